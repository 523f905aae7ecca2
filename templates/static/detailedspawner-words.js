// Texts, times and durations as the spawn page shows them. Nothing here touches the page.
"use strict";

const TEXT_LIMIT = 2000; // characters of one message
const NAME_LIMIT = 200;
const TITLE_LIMIT = 80;
const LOG_LIMIT = 20000; // characters of the end of a log
const ANSI = /\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?)/g;
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
// They would turn round what stands beside a text.
const INVISIBLE = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

// The error that tells why the Hub has refused a request: its words and status code.
// eslint-disable-next-line no-unused-vars -- used by the scripts that follow
async function refusal(response) {
  const body = await response.json().catch(() => ({}));
  return Object.assign(new Error(body.message || response.statusText), { code: response.status });
}

// eslint-disable-next-line no-unused-vars -- used by the scripts that follow
class Words {
  constructor(texts) {
    this.texts = texts;
    this.clockOffset = 0; // milliseconds that this computer's clock is ahead of the Hub's
  }

  // Put values into the braces of a text.
  say(name, values = {}) {
    const text = String(this.texts[name] ?? "");
    return text.replace(/\{(\w+)\}/g, (found, key) => values[key] ?? found);
  }

  clean(value, limit = TEXT_LIMIT) {
    const text = String(value ?? "")
      .slice(0, 4 * limit) // what is cut off anyway need not be searched
      .replace(ANSI, "")
      .replace(CONTROLS, "")
      .replace(INVISIBLE, "");
    return text.length > limit ? `${text.slice(0, limit)}…` : text;
  }

  name(value) {
    return this.clean(value, NAME_LIMIT);
  }

  duration(seconds) {
    const whole = Math.max(0, Math.round(seconds));
    if (whole < 60) return this.say("seconds", { s: whole });
    const s = String(whole % 60).padStart(2, "0");
    return this.say("minutes", { m: Math.floor(whole / 60), s });
  }

  // Seconds since something began; until now if it has not finished.
  secondsOf({ started_at, finished_at }) {
    const until = finished_at ? Date.parse(finished_at) : Date.now() - this.clockOffset;
    return Math.max(0, (until - Date.parse(started_at)) / 1000);
  }

  // How long a step has taken, and how long it usually takes while it is under way.
  step(step, over) {
    if (!step.started_at || (over && !step.finished_at)) return "";
    const time = this.duration(this.secondsOf(step));
    if (step.finished_at || !step.expected_seconds || over) return time;
    return this.say("usually", { time, expected: this.duration(step.expected_seconds) });
  }

  // When a start will be ready: 95 of 100 were by then, so that few are disappointed.
  expectation(status) {
    const limit = status.expected_at_most_seconds ?? status.expected_seconds;
    if (!limit || !status.started_at) return "";
    const left = limit - this.secondsOf(status);
    if (left <= 0) return this.say("any_moment");
    // In steps of five seconds, as nobody knows it better.
    const rounded = left > 10 ? 5 * Math.ceil(left / 5) : Math.ceil(left);
    return this.say("usually_ready", { time: this.duration(rounded) });
  }

  // Percent: what the cluster has done, or the part of the time in which half the starts are ready.
  progress(status) {
    const told = status.progress ?? 0;
    if (!status.expected_seconds || !status.started_at || status.state !== "starting") return told;
    const passed = (100 * this.secondsOf(status)) / status.expected_seconds;
    return Math.max(told, Math.min(95, Math.round(passed)));
  }

  time(iso) {
    const at = new Date(iso);
    return Number.isNaN(at.getTime()) ? "" : at.toLocaleTimeString();
  }

  // A fresh status tells how far the two clocks are apart. An older one only tells
  // that they are no further apart than its age; beyond ten minutes the clock is wrong.
  learnClock(updatedAt, fresh) {
    const age = Date.now() - Date.parse(updatedAt);
    if (Number.isNaN(age)) return;
    if (fresh || age < this.clockOffset || age > 600e3) this.clockOffset = age;
  }
}
