// What the spawn page shows and says. It is given a ServerStatus and draws it into
// the markup that the templates have made; it asks nobody for anything.
"use strict";

const EVENT_LIMIT = 500; // lines of the event log
const SPOKEN_STEPS = 3; // changes that are said one by one

// eslint-disable-next-line no-unused-vars -- detailedspawner.js uses it
class StartView {
  constructor(root, page) {
    this.root = root;
    this.words = new Words(page.texts);
    this.server = page.server;
    this.name = page.view; // how the page looks, as in "heading_<name>"
    this.status = null; // the last ServerStatus
    this.steps = this.part("steps") ? new StepList(this.part("steps"), this.words) : null;
    this.bar = 0; // percent that were shown, which never go down
    this.sentences = [];
    this.said = "";
  }

  part(name) {
    return partOf(this.root, name);
  }

  get ended() {
    return this.name === "failed" || this.name === "cancelled";
  }

  get failedStep() {
    return (this.status?.details ?? []).find((step) => step.status === "failed");
  }

  show(status, name) {
    const before = this.status;
    if (status) {
      this.words.learnClock(status.updated_at, before && before.revision !== status.revision);
      this.announceSteps(before?.details ?? [], status.details ?? []);
    }
    if (before?.start_id !== status?.start_id) this.bar = 0;
    this.status = status;
    this.name = name;
    this.draw();
  }

  draw() {
    const { root, status, words, name } = this;
    const total = status?.total_containers ?? 0;
    const count = { ready: status?.ready_containers ?? 0, total };
    const focused = document.activeElement;

    root.dataset.view = name;
    setText(this.part("heading"), words.say(`heading_${name}`, { server: this.server }));
    setText(this.part("lead"), words.say(`lead_${name}`));
    root.querySelectorAll("[data-views]").forEach((element) => {
      element.hidden = !element.dataset.views.split(" ").includes(name);
    });
    setText(this.part("counts"), total ? words.say("counts", count) : "");
    setText(this.part("message"), name === "failed" ? "" : words.clean(status?.message));
    const id = words.name(status?.start_id);
    setLine(id && words.say("start_id", { id }), this.part("start-id"));
    if (name === "failed") this.drawFailure();
    this.steps?.draw(status, name);
    this.drawWarnings();
    this.drawCancel();
    this.tick();
    document.title = this.title(total && name === "starting" ? count : null);
    // A hidden button cannot keep the focus: the heading takes it over.
    if (focused?.closest("[hidden]")) this.part("heading")?.focus();
  }

  // A failure is told by its step, else by its cause.
  title(count) {
    const { words, status } = this;
    const reason = words.clean(
      this.failedStep?.step || status?.message || words.say("cause_unknown"),
      TITLE_LIMIT,
    );
    const title = words.say(`title_${this.name}`, { server: this.server, reason });
    return count ? words.say("title_counts", { ...count, title }) : title;
  }

  drawWarnings() {
    const { words } = this;
    const place = this.part("warnings");
    const warnings = this.status?.warnings ?? [];
    while (place.children.length > warnings.length) place.lastElementChild.remove();
    while (place.children.length < warnings.length) place.append(copyOf("warning"));
    warnings.forEach((warning, index) => {
      const box = place.children[index];
      const values = { step: words.name(warning.step), message: words.clean(warning.message) };
      // one of the whole start belongs to no step
      const text = values.step ? words.say("warning", values) : values.message;
      setText(partOf(box, "text"), text);
      setText(partOf(box, "hint"), words.clean(warning.hint));
    });
  }

  drawFailure() {
    const { words } = this;
    const step = words.name(this.failedStep?.step);
    setLine(step && words.say("failed_step", { step }), this.part("failed-step"));
    setText(this.part("cause"), words.clean(this.status?.message) || words.say("cause_unknown"));
    const hint = words.clean(this.failedStep?.hint);
    setLine(hint, this.part("failure-hint"), this.part("failure-hint-line"));
  }

  drawCancel() {
    const possible = this.status?.cancellable ?? true;
    const cancelling = this.name === "cancelling";
    const starting = this.name === "starting" || this.name === "checking";
    const button = this.part("cancel");
    this.part("cancel-line").hidden = !(cancelling || (starting && possible));
    // Not "disabled", which would take the focus away from whoever has just pressed it.
    button.setAttribute("aria-disabled", cancelling);
    button.classList.toggle("disabled", cancelling);
    setText(button, this.words.say(cancelling ? "cancelling" : "cancel"));
  }

  // Once a second: the times of what is going on.
  tick() {
    const { status, words } = this;
    const going = this.name === "starting" || this.name === "checking";
    const times = [];
    if (going && status?.started_at) times.push(words.duration(words.secondsOf(status)));
    if (this.name === "starting" && status) times.push(words.expectation(status));
    setText(this.part("elapsed"), times.filter(Boolean).join(" · "));
    if (status) this.bar = Math.max(this.bar, words.progress(status));
    this.part("progress").value = this.bar;
    this.steps?.tick();
  }

  // A line about the connection to the Hub, or about what did not work.
  notify(text, reload = false) {
    setLine(text, this.part("notice-text"), this.part("notice"));
    this.part("reload")?.toggleAttribute("hidden", !reload);
  }

  // ---- saying ----

  // Changes that come together are said together, so that none cuts another off.
  announce(text) {
    if (!text) return;
    this.sentences.push(/[.!?…]$/.test(text) ? text : `${text}.`);
    if (this.sentences.length > 1) return;
    setTimeout(() => {
      const said = this.sentences.splice(0).join(" ");
      // What was said last is not said again.
      if (said !== this.said) this.part("announcement").textContent = said;
      this.said = said;
    }, 1000);
  }

  announceSteps(before, after) {
    if (!before.length) return;
    const changed = after.filter(
      ({ status }, index) => status !== "waiting" && before[index]?.status !== status,
    );
    changed.slice(0, SPOKEN_STEPS).forEach(({ step, status }) => {
      const word = this.words.say(`status_${status}`);
      this.announce(this.words.say("announce_step", { step: this.words.name(step), status: word }));
    });
    const number = changed.length - SPOKEN_STEPS;
    if (number > 0) this.announce(this.words.say("announce_more", { number }));
  }

  announceEnd() {
    const causes = this.name === "failed" ? ["failed-step", "cause", "failure-hint"] : [];
    ["heading", ...causes].forEach((name) => this.announce(this.part(name)?.textContent));
  }

  log({ raw_event: raw, message }) {
    const list = this.part("events-list");
    const parts = raw ? [raw.type, raw.reason, raw.message] : [message];
    const text = this.words.clean(parts.filter(Boolean).join(" · "));
    if (!text || list.lastElementChild?.lastChild.textContent === text) return;
    const line = document.createElement("div");
    const time = document.createElement("time");
    time.textContent = this.words.time(raw?.lastTimestamp ?? raw?.eventTime ?? Date.now());
    line.append(time, " ", text);
    list.append(line);
    while (list.children.length > EVENT_LIMIT) list.firstElementChild.remove();
  }
}
