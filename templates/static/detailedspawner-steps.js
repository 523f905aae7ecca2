// The list of steps. It is drawn into the markup that the templates have made;
// text from outside is only ever set as textContent.
"use strict";

// Templates of one element, which the server has made with the texts of the page.
function copyOf(name) {
  const template = document.getElementById(`detailedspawner-${name}`);
  return template.content.firstElementChild.cloneNode(true);
}

function partOf(root, name) {
  return root.querySelector(`[data-part="${name}"]`);
}

function setText(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

// A line is hidden when it has nothing to say.
function setLine(text, target, line = target) {
  setText(target, text);
  if (line) line.hidden = !text;
}

// What a person has unfolded or folded, kept while the tab is open.
class Choices {
  constructor() {
    this.startId = null;
    this.chosen = {};
  }

  // Those of another start are forgotten.
  of(startId) {
    if (startId === this.startId) return;
    this.startId = startId;
    this.chosen = {};
    try {
      const kept = JSON.parse(sessionStorage.getItem("detailedspawner-choices"));
      if (kept?.startId === startId) this.chosen = { ...kept.chosen };
    } catch {
      // Without storage they are kept for as long as the page is.
    }
  }

  get(step) {
    return Object.hasOwn(this.chosen, step) ? this.chosen[step] : undefined;
  }

  set(step, open) {
    this.chosen[step] = open;
    const kept = { startId: this.startId, chosen: this.chosen };
    try {
      sessionStorage.setItem("detailedspawner-choices", JSON.stringify(kept));
    } catch {
      // as above
    }
  }
}

// eslint-disable-next-line no-unused-vars -- detailedspawner-view.js uses it
class StepList {
  constructor(list, words) {
    this.list = list;
    this.words = words;
    this.choices = new Choices();
    this.status = null;
    list.addEventListener("click", (event) => this.remember(event));
  }

  // A click is a person's; the page itself unfolds without one. Enter and space click, too.
  remember(event) {
    const item = event.target.closest("summary")?.closest("li");
    if (!item || item.parentElement !== this.list) return;
    const index = [...this.list.children].indexOf(item);
    const step = this.status?.details?.[index];
    if (step) this.choices.set(step.step, !partOf(item, "unfold").open);
  }

  draw(status, view) {
    const steps = status?.details ?? [];
    this.status = status;
    this.failed = view === "failed";
    this.over = this.failed || view === "cancelled";
    this.running = view === "ready";
    this.choices.of(status?.start_id ?? null);
    this.list.hidden = steps.length === 0;
    while (this.list.children.length > steps.length) this.list.lastElementChild.remove();
    while (this.list.children.length < steps.length) this.list.append(copyOf("step"));
    steps.forEach((step, index) => this.drawStep(this.list.children[index], step));
  }

  drawStep(item, step) {
    const { words } = this;
    const real = words.texts[`status_${step.status}`] ? step.status : "waiting";
    // Nothing is waited for any more once the start has ended.
    const unfinished = this.over && (real === "waiting" || real === "executing");
    const shown = unfinished ? "waiting" : real;
    // On failure the cause and the hint stand above.
    const message = this.failed && step.message === this.status.message ? "" : step.message;
    const hint = this.failed ? "" : step.hint;

    if (item.dataset.status !== shown) {
      item.dataset.status = shown;
      item.querySelector("use").setAttribute("href", `#ds-icon-${shown}`);
    }
    setText(partOf(item, "name"), words.name(step.step));
    setText(partOf(item, "state"), words.say(`status_${real}${unfinished ? "_ended" : ""}`));
    setText(partOf(item, "time"), words.step(step, this.over || this.running));
    setLine(words.clean(message), partOf(item, "message"));
    setLine(words.clean(hint), partOf(item, "hint"), partOf(item, "hint-line"));
    this.drawFacts(partOf(item, "facts"), step);
    this.drawLogs(partOf(item, "logs"), real === "failed" ? this.containersOf(step) : []);
    const open = this.choices.get(step.step) ?? real === "failed";
    const unfold = partOf(item, "unfold");
    if (unfold.open !== open) unfold.open = open;
  }

  containersOf(step) {
    const names = step.containers ?? [];
    return (this.status.containers ?? []).filter((one) => names.includes(one.name));
  }

  drawFacts(list, step) {
    const { words } = this;
    const lines = this.containersOf(step).map((one) => this.fact(one));
    const time = step.started_at ? words.time(step.started_at) : "";
    lines.push(time ? words.say("began_at", { time }) : words.say("not_begun"));
    while (list.children.length > lines.length) list.lastElementChild.remove();
    while (list.children.length < lines.length) list.append(document.createElement("li"));
    lines.forEach((line, index) => setText(list.children[index], line));
  }

  // What is known of one container, in one line.
  fact(container) {
    const { words } = this;
    const code = container.exit_code;
    const number = container.restarts;
    return [
      words.name(container.name),
      words.say(`status_${container.status}`),
      words.name(container.image),
      code === null || code === undefined ? "" : words.say("exit_code", { code }),
      number ? words.say("restarts", { number }) : "",
    ]
      .filter(Boolean)
      .join(" · ");
  }

  drawLogs(place, containers) {
    const { words } = this;
    const tails = containers.filter((one) => one.log_tail);
    while (place.children.length > tails.length) place.lastElementChild.remove();
    while (place.children.length < tails.length) place.append(copyOf("log"));
    tails.forEach((container, index) => {
      const log = place.children[index];
      const name = words.name(container.name);
      setText(partOf(log, "caption"), words.say("log_of", { container: name }));
      setText(partOf(log, "text"), words.clean(container.log_tail, LOG_LIMIT));
    });
  }

  // Once a second: the times of what is going on.
  tick() {
    (this.status?.details ?? []).forEach((step, index) => {
      if (step.status !== "executing") return;
      const time = this.words.step(step, this.over || this.running);
      setText(partOf(this.list.children[index], "time"), time);
    });
  }
}
