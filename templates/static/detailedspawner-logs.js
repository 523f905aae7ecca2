// The log of a container while it runs, in its unfolded step. The Hub is asked again and
// again rather than kept busy by a stream: nobody reads faster than that.
"use strict";

const LOG_SECONDS = 3; // between two looks
const LOG_RETRY_SECONDS = 20; // after a refusal

// eslint-disable-next-line no-unused-vars -- detailedspawner.js uses it
class LiveLogs {
  constructor(view, page) {
    this.view = view;
    this.words = view.words;
    this.page = page;
    this.next = new Map(); // when each container is asked about again
    this.asking = false;
  }

  // Called once a second: show the logs of the steps that are at work and unfolded.
  async look() {
    if (!this.page.logs_url || this.asking || document.hidden || !this.view.steps) return;
    this.asking = true;
    try {
      const items = [...this.view.steps.list.children];
      const steps = this.view.status?.details ?? [];
      for (const [index, step] of steps.entries()) {
        const place = partOf(items[index], "live");
        if (step.status !== "executing" || this.view.ended) {
          place.replaceChildren();
        } else if (partOf(items[index], "unfold").open) {
          for (const name of step.containers ?? []) await this.lookAt(name, place);
        }
      }
    } finally {
      this.asking = false;
    }
  }

  async lookAt(name, place) {
    if (Date.now() < (this.next.get(name) ?? 0)) return;
    this.next.set(name, Date.now() + 1000 * LOG_SECONDS);
    let text;
    try {
      text = this.words.clean(await this.ask(name), LOG_LIMIT) || this.words.say("log_empty");
    } catch (error) {
      this.next.set(name, Date.now() + 1000 * LOG_RETRY_SECONDS);
      if (error.code === 404) return; // of this container no log is shown
      text = this.words.say("log_unavailable", { message: this.words.clean(error.message) });
    }
    this.draw(name, place, text);
  }

  async ask(name) {
    const query = new URLSearchParams({ _xsrf: this.page.xsrf_token });
    const url = `${this.page.logs_url}/${encodeURIComponent(name)}?${query}`;
    const response = await fetch(url, {
      cache: "no-store",
      headers: { Accept: "application/json" },
      signal: AbortSignal.timeout(15_000),
    });
    if (!response.ok) throw await refusal(response);
    const body = await response.json().catch(() => ({}));
    return body.text;
  }

  draw(name, place, text) {
    let log = [...place.children].find((one) => one.dataset.container === name);
    if (!log) {
      log = copyOf("log");
      log.dataset.container = name;
      const caption = this.words.say("live_log", { container: this.words.name(name) });
      setText(partOf(log, "caption"), caption);
      place.append(log);
    }
    const pre = partOf(log, "text");
    if (pre.textContent === text) return;
    // Who has scrolled up to read is left there.
    const atEnd = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 20;
    pre.textContent = text;
    if (atEnd) pre.scrollTop = pre.scrollHeight;
  }
}
