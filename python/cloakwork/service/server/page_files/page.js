// Shows what the server has and does. Names are of files and users: they become text, never HTML.

const TOKEN = "cloakwork token";
// Jobs that have ended, of which the server tells; seconds between looks at keys, and between tries.
const MOST_ENDED = 50;
const KEYS_EVERY = 60;
const LONGEST_PAUSE = 15;
const ORDER = { running: 0, queued: 1, done: 2, failed: 2 };

const byId = (id) => document.getElementById(id);
const needsToken = document.querySelector("meta[name=access]").content === "token";
const jobs = new Map();
let names = new Map();
let connection = new AbortController();

class Refused extends Error {}

function element(name, properties, ...children) {
  const made = document.createElement(name);
  Object.assign(made, properties);
  made.append(...children);
  return made;
}

function put(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

// Numbers, as people read them.

function duration(seconds) {
  if (seconds < 0.95) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.round(minutes / 1440)} days`;
}

function size(bytes) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  let left = bytes;
  while (left >= 1000 && at < units.length - 1) {
    left /= 1024;
    at += 1;
  }
  return `${at && left < 99.5 ? left.toPrecision(2 + (left >= 10)) : Math.round(left)} ${units[at]}`;
}

function count(number, one, several = `${one}s`) {
  return `${number} ${number === 1 ? one : several}`;
}

function moment(seconds) {
  const date = new Date(seconds * 1000);
  const today = date.toDateString() === new Date().toDateString();
  const text = today ? date.toLocaleTimeString() : date.toLocaleString();
  return element("time", { dateTime: date.toISOString() }, text);
}

function fact(name, value) {
  return element("div", {}, element("dt", {}, name), element("dd", {}, value));
}

// Requests.

async function ask(path) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const answer = await fetch(path, { headers, cache: "no-store", signal: connection.signal });
  if (answer.status === 401) throw new Refused();
  return answer;
}

async function told(path) {
  const answer = await ask(path);
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.detail);
  return found;
}

async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (text + value).split("\n\n");
    text = parts.pop();
    for (const part of parts) {
      if (part.startsWith("data: ")) yield JSON.parse(part.slice(6));
    }
  }
}

// Jobs.

function measuredAndPredicted() {
  return element("dd", {}, element("span", {}), element("span", { className: "predicted" }));
}

function jobRow() {
  const parts = {
    state: element("span", { className: "state" }),
    name: element("span", { className: "name" }),
    since: element("p", { className: "since" }),
    bar: element("progress", { max: 1 }),
    step: element("p", { className: "step" }),
    time: measuredAndPredicted(),
    memory: measuredAndPredicted(),
    problem: element("p", { className: "problem", hidden: true }),
  };
  const facts = element("dl", { className: "facts" });
  facts.append(
    element("div", {}, element("dt", {}, "Time"), parts.time),
    element("div", {}, element("dt", {}, "Memory"), parts.memory),
  );
  parts.row = element(
    "li",
    { className: "job" },
    element("div", {}, element("p", {}, parts.state, parts.name), parts.since),
    element("div", {}, parts.bar, parts.step),
    facts,
    parts.problem,
  );
  return parts;
}

function stepOf(job) {
  if (job.state === "queued") return [`place ${job.place ?? 1} in the queue`];
  if (job.state === "failed") return ["ended without results ", moment(job.ended)];
  if (job.state === "done") return ["results since ", moment(job.ended)];
  const parts = [`${Math.floor((100 * job.done) / job.of)} %`];
  // Some count what they do, others how much of the work it is.
  if (job.of > 1 && Number.isInteger(job.done)) parts.push(`${job.done} of ${job.of}`);
  if (job.step) parts.push(job.step);
  return [parts.join(", ")];
}

function elapsed(job, received) {
  if (job.started === null) return "";
  const since = job.state === "running" ? (performance.now() - received) / 1000 : 0;
  return duration(job.elapsed_seconds + since);
}

function beside(place, measured, predicted) {
  put(place.firstChild, measured);
  place.firstChild.hidden = !measured;
  put(place.lastChild, `${predicted} predicted`);
}

function showTime({ job, parts, received }) {
  beside(parts.time, elapsed(job, received), duration(job.predicted_seconds));
}

function showJob(known) {
  const { job, parts } = known;
  parts.state.dataset.state = job.state;
  put(parts.state, job.state);
  put(parts.name, job.program);
  parts.since.replaceChildren("sent ", moment(job.made));
  parts.bar.value = job.done / job.of;
  parts.bar.hidden = job.state !== "running";
  parts.bar.setAttribute("aria-label", `How much of ${job.program} is done`);
  parts.step.replaceChildren(...stepOf(job));
  showTime(known);
  beside(parts.memory, job.peak_bytes ? size(job.peak_bytes) : "", size(job.predicted_bytes));
  put(parts.problem, job.problem ?? "");
  parts.problem.hidden = !job.problem;
}

function takeJob(job) {
  const known = jobs.get(job.job) ?? { parts: jobRow() };
  const before = known.job?.state;
  jobs.set(job.job, Object.assign(known, { job, received: performance.now() }));
  showJob(known);
  if (before && before !== job.state) put(byId("news"), `${job.program}: ${job.state}`);
  if (!before) scheduleKeys();
  showOrder();
}

function compared(one, other) {
  const [a, b] = [one.job, other.job];
  return (
    ORDER[a.state] - ORDER[b.state] ||
    (a.place ?? 0) - (b.place ?? 0) ||
    (b.ended ?? b.made) - (a.ended ?? a.made)
  );
}

function showOrder() {
  const ordered = [...jobs.values()].sort(compared);
  const ended = ordered.filter(({ job }) => ORDER[job.state] === 2);
  for (const { job } of ended.slice(MOST_ENDED)) jobs.delete(job.job);
  const rows = ordered.filter(({ job }) => jobs.has(job.job)).map(({ parts }) => parts.row);
  const list = byId("jobs");
  // What stands where it should stays, and keeps what is selected in it.
  rows.forEach((row, at) => list.children[at] !== row && list.insertBefore(row, list.children[at]));
  while (list.children.length > rows.length) list.lastChild.remove();
  const live = ordered.length - ended.length;
  put(byId("jobs-count"), live ? `${live} waiting or running` : "");
  byId("jobs-none").hidden = rows.length > 0;
}

function tick() {
  for (const known of jobs.values()) {
    if (known.job.state === "running") showTime(known);
  }
}

// Programs.

function scrolled(label, child) {
  const made = element("div", { className: "scrolled", tabIndex: 0, ariaLabel: label }, child);
  made.setAttribute("role", "region");
  return made;
}

function factsOf(found) {
  const facts = element("dl", { className: "facts" });
  const fails = found.log2_failure === null ? "never" : `2^${Math.ceil(found.log2_failure)} at most`;
  facts.append(
    fact("Time of a run", duration(found.seconds)),
    fact("Memory of a run", size(found.run_bytes)),
    fact("Evaluation keys", size(found.key_bytes)),
    fact("Inputs", size(found.input_bytes)),
    fact("Results", size(found.output_bytes)),
    fact("Chance of failure", fails),
  );
  return facts;
}

async function plotOf(name, path) {
  const answer = await ask(`${path}/plot`);
  if (!answer.ok) throw new Error((await answer.json()).detail);
  const image = element("img", { alt: `The plan of ${name}: slots, operations by level, times` });
  image.src = URL.createObjectURL(await answer.blob());
  image.addEventListener("load", () => URL.revokeObjectURL(image.src));
  return scrolled(`Plot of ${name}`, image);
}

async function shownOrWhy(place, made) {
  try {
    place.replaceWith(await made);
  } catch (error) {
    if (error instanceof Refused) return refuse();
    // What fetch itself throws says nothing to people.
    const lost = "The server did not answer. Close this and open it to ask again.";
    put(place, error instanceof TypeError ? lost : error.message);
    place.parentElement.dataset.state = "lacking";
  }
  return undefined;
}

async function explanationOf(name, path) {
  const found = await told(`${path}/explanation`);
  const text = found.text
    ? scrolled(`Explanation of ${name}`, element("pre", {}, found.text))
    : element("p", { className: "quiet" }, "The operator keeps its plan to the server.");
  return element("div", { className: "explained" }, factsOf(found), text);
}

async function openProgram(details, name) {
  const plan = details.querySelector(".plan");
  if (!details.open && plan?.dataset.state === "lacking") plan.remove();
  if (!details.open || plan) return;
  const path = `/v1/programs/${encodeURIComponent(name)}`;
  const text = element("p", { className: "quiet" }, "Asking for the plan");
  const made = element("div", { className: "plan" }, text);
  details.append(made);
  await shownOrWhy(text, explanationOf(name, path));
  if (!made.querySelector("pre")) return;
  const plot = element("p", { className: "quiet" }, "Drawing the plan");
  made.append(plot);
  await shownOrWhy(plot, plotOf(name, path));
}

function programRow({ name, fingerprint, warning }) {
  const summary = element("summary", {}, element("span", { className: "name" }, name));
  summary.append(element("span", { className: "print" }, fingerprint.slice(0, 12)));
  if (warning) summary.append(element("span", { className: "warning" }, warning));
  const details = element("details", {}, summary);
  details.addEventListener("toggle", () => openProgram(details, name));
  return details;
}

function unservedRow({ name, detail }) {
  const problem = element("p", { className: "problem" }, detail);
  return element("div", { className: "unserved" }, element("p", { className: "name" }, name), problem);
}

let programsShown = "";

async function showPrograms() {
  const { programs, unserved } = await told("/v1/programs");
  names = new Map(programs.map((each) => [each.fingerprint, each.name]));
  const found = JSON.stringify([programs, unserved]);
  const rows = [...programs.map(programRow), ...unserved.map(unservedRow)];
  // Rows that stay keep what is open in them.
  if (found !== programsShown) byId("programs").replaceChildren(...rows);
  programsShown = found;
  byId("programs-none").hidden = rows.length > 0;
  put(byId("programs-count"), programs.length ? count(programs.length, "program") : "");
}

// Keys.

function keyRow({ digest, program, bytes, since, until }) {
  const now = Date.now();
  const age = (now - Date.parse(since)) / 1000;
  const left = (Date.parse(until) - now) / 1000;
  const facts = element("dl", { className: "facts" });
  facts.append(
    fact("Size", size(bytes)),
    fact("Here for", duration(Math.max(age, 1))),
    fact("Removed if unused", left > 0 ? `in ${duration(left)}` : "soon"),
  );
  const name = element("span", { className: "name" }, names.get(program) ?? "another program");
  const print = element("p", { className: "print" }, digest.slice(0, 12));
  return element("li", { className: "key" }, element("div", {}, name, print), facts);
}

async function showKeys() {
  const { keys } = await told("/v1/keys");
  byId("keys").replaceChildren(...keys.map(keyRow));
  byId("keys-none").hidden = keys.length > 0;
  const total = keys.reduce((sum, each) => sum + each.bytes, 0);
  put(byId("keys-count"), keys.length ? `${count(keys.length, "set")}, ${size(total)}` : "");
}

let keysAsked = 0;

function scheduleKeys() {
  clearTimeout(keysAsked);
  // A job comes with its keys, and many may come at once.
  keysAsked = setTimeout(() => showKeys().catch(() => {}), 500);
}

// The connection.

function say(state, text) {
  byId("connection").dataset.state = state;
  put(byId("connection"), text);
}

function refuse() {
  const had = sessionStorage.getItem(TOKEN) !== null;
  sessionStorage.removeItem(TOKEN);
  askForToken(
    had
      ? "The server does not know this token, or it has expired. See whether all of it was copied, " +
          "or ask the operator for another."
      : "",
  );
}

function askForToken(why) {
  connection.abort();
  jobs.clear();
  names = new Map();
  for (const id of ["jobs", "programs", "keys"]) byId(id).replaceChildren();
  programsShown = "";
  byId("shown").hidden = byId("forget").hidden = byId("gone").hidden = true;
  byId("access").hidden = false;
  put(byId("refusal"), why);
  say("closed", "Closed");
  byId("token").value = "";
  byId("token").focus();
}

async function follow() {
  await showPrograms();
  await showKeys();
  const answer = await ask("/v1/events");
  byId("access").hidden = byId("gone").hidden = true;
  byId("shown").hidden = false;
  byId("forget").hidden = !needsToken;
  say("live", "Live");
  showOrder();
  for await (const job of events(answer)) takeJob(job);
}

function wait(seconds, signal) {
  return new Promise((resolve) => {
    setTimeout(resolve, 1000 * seconds);
    signal.addEventListener("abort", resolve);
  });
}

async function connect() {
  connection = new AbortController();
  const { signal } = connection;
  for (let pause = 1; !signal.aborted; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    try {
      await follow();
      pause = 0.5;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused) return refuse();
      if (byId("connection").dataset.state === "live") pause = 0.5;
    }
    say("gone", "Not connected");
    const when = `Trying again in ${count(Math.ceil(pause), "second")}.`;
    put(byId("gone"), `The server does not answer. Its jobs go on when it does. ${when}`);
    byId("gone").hidden = false;
    await wait(pause, signal);
  }
}

byId("access").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(TOKEN, byId("token").value.trim());
  connect();
});
byId("forget").addEventListener("click", () => {
  sessionStorage.removeItem(TOKEN);
  askForToken("");
});
put(byId("host"), location.host);
setInterval(tick, 1000);
setInterval(() => byId("shown").hidden || scheduleKeys(), 1000 * KEYS_EVERY);
if (needsToken && !sessionStorage.getItem(TOKEN)) askForToken("");
else connect();
