// What the spawn page shows and says. It is given a ServerStatus and draws it into
// the markup that the templates have made; it asks nobody for anything.
// Text from outside is only ever set as textContent.
"use strict";

const TEXT_LIMIT = 2000; // characters of one message
const NAME_LIMIT = 200;
const LOG_LIMIT = 20000; // characters of the end of a log
const EVENT_LIMIT = 500; // lines of the event log

// eslint-disable-next-line no-unused-vars -- detailedspawner.js uses it
class StartView {
  constructor(root, page) {
    this.root = root;
    this.texts = page.texts;
    this.server = page.server;
    this.name = page.view; // how the page looks, as in "heading_<name>"
    this.status = null; // the last ServerStatus
    this.clockOffset = 0; // milliseconds that this computer's clock is ahead of the Hub's
    this.sentences = [];
  }

  part(name, within = this.root) {
    return within.querySelector(`[data-part="${name}"]`);
  }

  get ended() {
    return this.name === "failed" || this.name === "cancelled";
  }

  // ---- texts and times ----

  format(template, values) {
    return template.replace(/\{(\w+)\}/g, (found, key) => values[key] ?? found);
  }

  clean(value, limit = TEXT_LIMIT) {
    const text = String(value ?? "")
      .slice(0, 4 * limit) // what is cut off anyway need not be searched
      .replace(/\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?)/g, "")
      .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "");
    return text.length > limit ? `${text.slice(0, limit)}…` : text;
  }

  duration(seconds) {
    const whole = Math.max(0, Math.round(seconds));
    if (whole < 60) return this.format(this.texts.seconds, { s: whole });
    const s = String(whole % 60).padStart(2, "0");
    return this.format(this.texts.minutes, { m: Math.floor(whole / 60), s });
  }

  // How long something has taken, in words; until now if it has not finished.
  elapsed({ started_at, finished_at, expected_seconds }) {
    if (!started_at || (this.ended && !finished_at)) return "";
    const until = finished_at ? Date.parse(finished_at) : Date.now() - this.clockOffset;
    const time = this.duration((until - Date.parse(started_at)) / 1000);
    if (finished_at || !expected_seconds || this.name === "ready") return time;
    return this.format(this.texts.usually, { time, expected: this.duration(expected_seconds) });
  }

  // A fresh status tells how far the two clocks are apart. An older one only tells
  // that they are no further apart than its age; beyond ten minutes the clock is wrong.
  learnClock(updatedAt, fresh) {
    const age = Date.now() - Date.parse(updatedAt);
    if (Number.isNaN(age)) return;
    if (fresh || age < this.clockOffset || age > 600e3) this.clockOffset = age;
  }

  // ---- drawing ----

  setText(element, text) {
    if (element && element.textContent !== text) element.textContent = text;
  }

  // A line is hidden when it has nothing to say.
  setLine(text, target, line = target) {
    this.setText(target, text);
    if (line) line.hidden = !text;
  }

  // Templates of one element, which the server has made with the texts of the page.
  copyOf(name) {
    const template = document.getElementById(`detailedspawner-${name}`);
    return template.content.firstElementChild.cloneNode(true);
  }

  show(status, name) {
    const before = this.status;
    if (status) {
      this.learnClock(status.updated_at, before && before.revision !== status.revision);
      this.announceSteps(before?.details ?? [], status.details ?? []);
    }
    this.status = status;
    this.name = name;
    this.draw();
  }

  draw() {
    const { root, status, texts, name } = this;
    const words = { server: this.server };
    const total = status?.total_containers ?? 0;
    const count = { ready: status?.ready_containers ?? 0, total };
    const focused = document.activeElement;

    root.dataset.view = name;
    this.setText(this.part("heading"), this.format(texts[`heading_${name}`], words));
    this.setText(this.part("lead"), texts[`lead_${name}`]);
    root.querySelectorAll("[data-views]").forEach((element) => {
      element.hidden = !element.dataset.views.split(" ").includes(name);
    });
    this.setText(this.part("counts"), total ? this.format(texts.counts, count) : "");
    this.part("progress").value = status?.progress ?? 0;
    this.setText(this.part("message"), name === "failed" ? "" : this.clean(status?.message));
    const id = this.clean(status?.start_id, NAME_LIMIT);
    this.setLine(id && this.format(texts.start_id, { id }), this.part("start-id"));
    if (name === "failed") this.drawFailure();
    this.drawSteps();
    this.drawWarnings();
    this.drawCancel();
    this.tick();

    const title = this.format(texts[`title_${name}`], words);
    const counted = total && name === "starting";
    document.title = counted ? this.format(texts.title_counts, { ...count, title }) : title;
    // A hidden button cannot keep the focus: the heading takes it over.
    if (focused?.closest("[hidden]")) this.part("heading")?.focus();
  }

  drawSteps() {
    const list = this.part("steps");
    const steps = this.status?.details ?? [];
    list.hidden = steps.length === 0;
    while (list.children.length > steps.length) list.lastElementChild.remove();
    while (list.children.length < steps.length) list.append(this.copyOf("step"));
    steps.forEach((step, index) => this.drawStep(list.children[index], step));
  }

  drawStep(item, step) {
    const failedView = this.name === "failed";
    const real = this.texts[`status_${step.status}`] ? step.status : "waiting";
    // Nothing is waited for any more once the start has ended.
    const unfinished = this.ended && (real === "waiting" || real === "executing");
    const shown = unfinished ? "waiting" : real;
    // On failure the cause and the hint stand above.
    const message = failedView && step.message === this.status.message ? "" : step.message;
    const hint = failedView ? "" : step.hint;

    if (item.dataset.status !== shown) {
      item.dataset.status = shown;
      item.querySelector("use").setAttribute("href", `#ds-icon-${shown}`);
    }
    this.setText(this.part("name", item), this.clean(step.step, NAME_LIMIT));
    this.setText(
      this.part("state", item),
      this.texts[`status_${real}${unfinished ? "_ended" : ""}`],
    );
    this.setText(this.part("time", item), this.elapsed(step));
    this.setLine(this.clean(message), this.part("message", item));
    this.setLine(this.clean(hint), this.part("hint", item), this.part("hint-line", item));
    this.drawLogs(this.part("logs", item), real === "failed" ? (step.containers ?? []) : []);
  }

  drawLogs(place, names) {
    const containers = this.status.containers ?? [];
    const tails = containers.filter((one) => one.log_tail && names.includes(one.name));
    const logs = tails.map((container) => {
      const log = this.copyOf("log");
      const words = { container: this.clean(container.name, NAME_LIMIT) };
      this.setText(this.part("caption", log), this.format(this.texts.log_of, words));
      this.setText(this.part("text", log), this.clean(container.log_tail, LOG_LIMIT));
      return log;
    });
    place.replaceChildren(...logs);
  }

  drawWarnings() {
    const boxes = (this.status?.warnings ?? []).map((warning) => {
      const box = this.copyOf("warning");
      const step = this.clean(warning.step, NAME_LIMIT);
      const words = { step, message: this.clean(warning.message) };
      // one of the whole start belongs to no step
      const text = step ? this.format(this.texts.warning, words) : words.message;
      this.setText(this.part("text", box), text);
      this.setText(this.part("hint", box), this.clean(warning.hint));
      return box;
    });
    this.part("warnings").replaceChildren(...boxes);
  }

  drawFailure() {
    const failed = (this.status?.details ?? []).find((step) => step.status === "failed");
    const step = this.clean(failed?.step, NAME_LIMIT);
    this.setLine(step && this.format(this.texts.failed_step, { step }), this.part("failed-step"));
    const cause = this.clean(this.status?.message) || this.texts.cause_unknown;
    this.setText(this.part("cause"), cause);
    const hint = this.clean(failed?.hint);
    this.setLine(hint, this.part("failure-hint"), this.part("failure-hint-line"));
  }

  drawCancel() {
    const possible = this.status?.cancellable ?? true;
    const cancelling = this.name === "cancelling";
    const starting = this.name === "starting" || this.name === "checking";
    this.part("cancel-line").hidden = !(cancelling || (starting && possible));
    // Not "disabled", which would take the focus away from whoever has just pressed it.
    this.part("cancel").setAttribute("aria-disabled", cancelling);
    this.part("cancel").classList.toggle("disabled", cancelling);
    this.setText(this.part("cancel"), cancelling ? this.texts.cancelling : this.texts.cancel);
  }

  // Once a second: the times of what is going on.
  tick() {
    this.setText(this.part("elapsed"), this.status ? this.elapsed(this.status) : "");
    (this.status?.details ?? []).forEach((step, index) => {
      if (step.status !== "executing") return;
      this.setText(this.part("time", this.part("steps").children[index]), this.elapsed(step));
    });
  }

  // A line about the connection to the Hub, or about a cancel that did not work.
  notify(text, reload = false) {
    this.setLine(text, this.part("notice-text"), this.part("notice"));
    this.part("reload").hidden = !reload;
  }

  // ---- saying ----

  // Changes that come together are said together, so that none cuts another off.
  announce(text) {
    if (!text) return;
    this.sentences.push(/[.!?…]$/.test(text) ? text : `${text}.`);
    if (this.sentences.length > 1) return;
    setTimeout(() => {
      this.part("announcement").textContent = this.sentences.splice(0).join(" ");
    }, 1000);
  }

  announceSteps(before, after) {
    after.forEach(({ step, status }, index) => {
      const word = this.texts[`status_${status}`];
      if (!before.length || before[index]?.status === status || status === "waiting") return;
      const words = { step: this.clean(step, NAME_LIMIT), status: word };
      this.announce(this.format(this.texts.announce_step, words));
    });
  }

  announceEnd() {
    const causes = this.name === "failed" ? ["failed-step", "cause", "failure-hint"] : [];
    ["heading", ...causes].forEach((name) => this.announce(this.part(name)?.textContent));
  }

  log({ raw_event: raw, message }) {
    const list = this.part("events-list");
    const parts = raw ? [raw.type, raw.reason, raw.message] : [message];
    const text = this.clean(parts.filter(Boolean).join(" · "));
    if (!text || list.lastElementChild?.lastChild.textContent === text) return;
    const line = document.createElement("div");
    const time = document.createElement("time");
    const at = new Date(raw?.lastTimestamp ?? raw?.eventTime ?? Date.now());
    time.textContent = Number.isNaN(at.getTime()) ? "" : at.toLocaleTimeString();
    line.append(time, " ", text);
    list.append(line);
    while (list.children.length > EVENT_LIMIT) list.firstElementChild.remove();
  }
}
