// Follows a start until it ends. The page already holds the present steps; the event
// stream brings the changes, and the status endpoint stands in where the stream is
// broken or silent. What is seen of it is in detailedspawner-view.js.
"use strict";

(() => {
  const page = JSON.parse(document.getElementById("detailedspawner-data").textContent);
  const { texts, views } = page;
  const view = new StartView(document.getElementById("detailedspawner"), page);
  const logs = new LiveLogs(view, page);

  // Seconds until the next try, after none, one, two... failures in a row.
  const POLL_SECONDS = [2, 3, 5, 8, 13, 20];
  const STREAM_RETRY_SECONDS = [4, 8, 16, 32, 60];
  const SILENCE_SECONDS = 15;
  const FIRST_EVENT_SECONDS = 8; // the Hub tells the present status at once
  const ANSWER_SECONDS = 15;
  const WAIT_SECONDS = 20; // that the Hub may hold an answer back until something changes
  const SLEPT_SECONDS = 30; // without a tick: the computer slept

  let status = page.status; // the last ServerStatus, null for other spawner classes
  let stream = null;
  let streamFailures = 0;
  let retryTimer = null;
  let pollFailures = 0;
  let pollTimer = null;
  let polls = 0; // a question that is asked anew takes the place of the one under way
  let waiting = false; // whether the next question may wait for a change
  let ticker = null;
  let lastHeard = 0;
  let lastEvent = 0; // of the stream that is open; 0 before its first
  let lastTick = Date.now();
  let cancelling = false; // this page has asked for the end
  let finished = false;

  const milliseconds = (seconds, failures) =>
    1000 * seconds[Math.min(failures, seconds.length - 1)];

  // ---- what was heard ----

  // Revisions are "<start id>.<number>"; an answer may be overtaken by a later event.
  function isOlder(one, other) {
    const [, id, number] = /^(.*)\.(\d+)$/.exec(one?.revision ?? "") ?? [];
    const [, otherId, otherNumber] = /^(.*)\.(\d+)$/.exec(other?.revision ?? "") ?? [];
    if (id === undefined || id !== otherId || Number(number) >= Number(otherNumber)) return false;
    // After a restart of the Hub the numbers of the same start begin anew.
    return !(Date.parse(one.updated_at) > Date.parse(other.updated_at));
  }

  function receive(latest) {
    if (finished || isOlder(latest, status)) return;
    status = latest;
    const name = views[latest.state] ?? "starting";
    // The start goes on for a moment after the button was pressed.
    view.show(status, cancelling && !["cancelled", "failed"].includes(name) ? "cancelling" : name);
    if (view.ended) finish();
  }

  // The end as far as it is known without a status.
  function receiveEnd(state, message) {
    receive({ ...status, revision: null, state, message });
  }

  function finish() {
    finished = true;
    closeStream();
    clearTimeout(pollTimer);
    clearInterval(ticker);
    clearTimeout(retryTimer);
    logs.look(); // takes them away
    view.notify("");
    view.announceEnd();
  }

  function goToServer(url) {
    if (finished) return;
    view.show(status, "ready");
    finish();
    // The Hub knows which values of ?next= are safe: it redirects from this very page.
    if (new URLSearchParams(location.search).has("next")) return location.reload();
    const target = new URL(url || page.server_url, location.href);
    if (!["http:", "https:"].includes(target.protocol)) return;
    if (!target.hash) target.hash = location.hash;
    location.replace(target.href);
  }

  // ---- the event stream ----

  function connect() {
    if (stream || finished) return;
    lastHeard = Date.now();
    lastEvent = 0;
    stream = new EventSource(page.progress_url);
    stream.onmessage = ({ data }) => finished || onEvent(JSON.parse(data));
    // A broken stream and one that the Hub refuses, as after its restart, look the same.
    stream.onerror = dropStream;
  }

  function closeStream() {
    stream?.close();
    stream = null;
  }

  function dropStream() {
    closeStream();
    if (finished) return;
    waiting = false;
    clearTimeout(retryTimer);
    retryTimer = setTimeout(connect, milliseconds(STREAM_RETRY_SECONDS, streamFailures++));
    pollIn(0);
  }

  // After sleep, or in another network, a stream may look open and be dead.
  function wake() {
    if (finished) return;
    streamFailures = pollFailures = 0;
    closeStream();
    waiting = false;
    pollIn(0);
    connect();
  }

  function onTick() {
    const slept = Date.now() - lastTick > 1000 * SLEPT_SECONDS;
    lastTick = Date.now();
    if (slept && !document.hidden) wake();
    view.tick();
    logs.look();
    checkSilence();
  }

  function onEvent(event) {
    lastHeard = lastEvent = Date.now();
    streamFailures = pollFailures = 0;
    clearTimeout(pollTimer);
    if (!cancelling) view.notify("");
    view.log(event);
    // While a start is being cancelled, the Hub may take the server for a ready one.
    if (event.failed || (event.ready && cancelling)) return endOfStream(event);
    if (event.ready) return goToServer(event.url);
    if (event.status?.state) receive(event.status);
    else if (!status?.revision) receive({ state: "starting", ...event });
    if (view.name === "ready") pollIn(3000); // in case the Hub's last event is lost
  }

  // The Hub's last event has one sentence; the status has the steps and the hint.
  async function endOfStream(event) {
    closeStream();
    const last = await askStatus().catch(() => null);
    if (last) receive(last);
    if (last && view.name === "cancelling") pollIn(1000);
    else receiveEnd(cancelling ? "stopped" : "failed", event.message);
  }

  // A proxy may hold the stream back without closing it: ask whether something was missed.
  async function checkSilence() {
    const limit = lastEvent ? SILENCE_SECONDS : FIRST_EVENT_SECONDS;
    if (!stream || Date.now() - lastHeard < 1000 * limit) return;
    lastHeard = Date.now();
    const answer = await askStatus().catch(() => null);
    const missed = answer?.revision !== status?.revision || answer?.state === "running";
    if (answer && (missed || !lastEvent)) dropStream();
  }

  // ---- asking ----

  // With `wait` the answer comes when the status is another one than the last.
  async function askStatus(wait = 0) {
    const query = new URLSearchParams({ _xsrf: page.xsrf_token });
    if (wait && status?.revision) {
      query.set("wait", wait);
      query.set("revision", status.revision);
    }
    const response = await fetch(`${page.status_url}?${query}`, {
      cache: "no-store",
      headers: { Accept: "application/json" },
      signal: AbortSignal.timeout(1000 * (ANSWER_SECONDS + wait)),
    });
    if (!response.ok) throw await refusal(response);
    return response.json();
  }

  function pollIn(delay) {
    clearTimeout(pollTimer);
    if (!finished) pollTimer = setTimeout(poll, delay);
  }

  async function poll() {
    const asked = Date.now();
    const number = ++polls;
    try {
      // Where no stream gets through, the Hub itself waits for the next change; the first
      // question after a stream broke is answered at once.
      const answer = await askStatus(waiting && !cancelling ? WAIT_SECONDS : 0);
      waiting = true;
      pollFailures = 0;
      view.notify("");
      receive(answer);
      if (answer.state === "running" && !cancelling) return goToServer();
    } catch (error) {
      if (number !== polls) return;
      pollFailures += 1;
      waiting = false;
      // A server that is not kept after a cancel is gone for the Hub as well.
      if (cancelling && error.code === 404) return receiveEnd("stopped", "");
      if ([401, 403].includes(error.code)) view.notify(texts.session_ended, true);
      else if (pollFailures > 1 && !finished) view.notify(texts.connection_lost, true);
    }
    // What the stream has said meanwhile makes asking on needless.
    const waited = Date.now() - asked >= 1000 * POLL_SECONDS[0];
    const next = waited && !pollFailures ? 0 : milliseconds(POLL_SECONDS, pollFailures);
    if (number === polls && lastEvent <= asked) pollIn(next);
  }

  // ---- cancelling ----

  async function cancel() {
    if (cancelling) return;
    cancelling = true;
    view.notify("");
    view.show(status, "cancelling");
    view.announce(texts.cancelling);
    try {
      const response = await fetch(page.stop_url, {
        method: "DELETE",
        headers: { "X-XSRFToken": page.xsrf_token, Accept: "application/json" },
      });
      if (!response.ok && response.status !== 404) throw await refusal(response);
      pollIn(0);
    } catch (error) {
      if (finished) return;
      cancelling = false;
      view.show(status, views[status?.state] ?? "starting");
      const message = view.words.clean(error.message);
      const text = view.words.say("cancel_failed", { message });
      view.notify(text);
      view.announce(text);
    }
  }

  // ---- the two pages ----

  function startPending() {
    view.show(status, view.name);
    new EndActions(view, page);
    if (view.ended) return finish();
    view.part("cancel").addEventListener("click", cancel);
    ticker = setInterval(onTick, 1000);
    window.addEventListener("online", wake);
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && Date.now() - lastHeard > 1000 * SILENCE_SECONDS) wake();
    });
    // A page out of the browser's cache shows a start of the past.
    window.addEventListener("pageshow", (event) => event.persisted && location.reload());
    connect();
  }

  function startNotRunning() {
    if (status) {
      view.status = status;
      view.steps?.draw(status, "failed");
      new EndActions(view, page);
    }
    const link = document.getElementById("start");
    if (link && location.hash) link.href += location.hash;
    const seconds = page.implicit_spawn_seconds;
    if (seconds) setTimeout(() => location.assign(page.spawn_url), 1000 * seconds);
  }

  if (page.progress_url) startPending();
  else startNotRunning();
  window._jupyterhub_page_loaded = true; // as the Hub's own pages say it, for tests
})();
