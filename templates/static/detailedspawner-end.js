// What a person can do once a start has ended: try again, and copy what to report.
"use strict";

// eslint-disable-next-line no-unused-vars -- detailedspawner.js uses it
class EndActions {
  constructor(view, page) {
    this.view = view;
    this.words = view.words;
    this.page = page;
    this.trying = false;
    const copy = view.part("copy");
    if (copy) {
      copy.hidden = false;
      copy.addEventListener("click", () => this.copy(copy));
    }
    for (const end of ["failed", "cancelled"]) {
      view.part(`again-${end}`)?.addEventListener("click", (event) => this.again(event));
    }
  }

  // ---- once more with the options of the last time ----

  async again(event) {
    // A new tab, or a Hub that does not know the server any more, takes the link.
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    if (this.trying) return;
    this.trying = true;
    const { view, words, page } = this;
    view.notify(words.say("trying_again"));
    view.announce(words.say("trying_again"));
    try {
      const response = await fetch(page.stop_url, {
        method: "POST",
        headers: {
          "X-XSRFToken": page.xsrf_token,
          Accept: "application/json",
          // Without one, a proxy may add the type of a form, which the Hub refuses.
          "Content-Type": "application/json",
        },
      });
      // Options that are not valid any more are chosen anew.
      if (response.status === 400) return location.assign(page.spawn_url);
      if (!response.ok) throw await refusal(response);
      // The Hub shows the new start at this address, or redirects to what runs already.
      location.reload();
    } catch (error) {
      const text = words.say("try_failed", { message: words.clean(error.message) });
      view.notify(text);
      view.announce(text);
    } finally {
      this.trying = false;
    }
  }

  // ---- what to report ----

  // Only what the page shows: the status holds nothing that its owner may not see.
  details() {
    const { words } = this;
    const status = this.view.status ?? {};
    const lines = [
      words.say("heading_failed", { server: this.page.server }),
      words.clean(status.message),
      words.clean(this.view.failedStep?.hint),
      words.name(status.start_id) && words.say("start_id", { id: words.name(status.start_id) }),
      status.updated_at,
      location.href.split(/[?#]/)[0],
      "",
    ].filter((line) => line !== undefined && line !== null);
    for (const step of status.details ?? []) {
      const time = words.step(step, true);
      const state = words.say(`status_${step.status}`);
      lines.push([words.name(step.step), state, time].filter(Boolean).join(" · "));
      if (step.reason) lines.push(`  ${words.name(step.reason)}`);
      if (step.message) lines.push(`  ${words.clean(step.message)}`);
    }
    for (const { name, log_tail: log } of status.containers ?? []) {
      if (!log) continue;
      lines.push("", words.say("log_of", { container: words.name(name) }));
      lines.push(words.clean(log, LOG_LIMIT));
    }
    return `${lines.join("\n")}\n`;
  }

  async copy(button) {
    const { words } = this;
    let text = words.say("copied");
    try {
      await this.write(this.details());
    } catch {
      text = words.say("copy_failed");
    }
    setText(button, text);
    this.view.announce(text);
    setTimeout(() => setText(button, words.say("copy_details")), 3000);
  }

  async write(text) {
    // Browsers have no clipboard for pages that came over plain http.
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "visually-hidden";
    this.view.root.append(area);
    const focused = document.activeElement;
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    focused?.focus();
    if (!done) throw new Error("refused");
  }
}
