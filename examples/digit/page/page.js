// The page: what it shows of the drawing, of the answer, and of what went over the wire.

import { Drawing, PIXELS, paintPixels } from "./drawing.js";

// How long after a stroke the drawing is taken as finished, in milliseconds.
const PAUSE = 700;
const SHOWN_BYTES = 112;

const at = (name) => document.getElementById(name);
// A number and its unit stay in one line.
const SPACE = "\u00a0";
const size = (bytes) =>
  bytes < 1e6 ? `${Math.round(bytes / 1e3)}${SPACE}kB` : `${(bytes / 1e6).toFixed(1)}${SPACE}MB`;
const time = (ms) =>
  ms < 1000 ? `${Math.max(1, Math.round(ms))}${SPACE}ms` : `${(ms / 1000).toFixed(1)}${SPACE}s`;
const inkOf = (element) => getComputedStyle(element).color;

const worker = new Worker("client.js", { type: "module" });
// What is being asked, and whether the drawing has changed since.
const state = { ready: false, busy: false, waiting: false, timer: 0 };

function say(text, { failed = false } = {}) {
  at("status").textContent = text;
  at("status").classList.toggle("failed", failed);
}

const drawing = new Drawing(at("paper"), {
  begun() {
    clearTimeout(state.timer);
    at("hint").hidden = true;
  },
  ended() {
    clearTimeout(state.timer);
    state.timer = setTimeout(ask, PAUSE);
  },
});

function ask() {
  clearTimeout(state.timer);
  if (drawing.isEmpty) return;
  state.waiting = !state.ready || state.busy;
  if (state.waiting) return;
  state.busy = true;
  const pixels = drawing.pixels();
  paintPixels(at("yours").getContext("2d"), pixels, inkOf(at("yours")));
  say("Encrypting");
  worker.postMessage({ pixels });
}

function answered() {
  state.busy = false;
  if (state.waiting) ask();
}

function clear() {
  clearTimeout(state.timer);
  state.waiting = false;
  drawing.clear();
  at("hint").hidden = false;
  showNothing();
}

function showNothing() {
  at("digit").textContent = "No answer yet";
  delete at("digit").dataset.digit;
  for (const line of at("scores").children) {
    line.classList.remove("best");
    line.querySelector(".bar").style.width = "0";
    line.querySelector(".score").textContent = "";
  }
}

const largest = (scores) => scores.indexOf(Math.max(...scores));

function showScores(scores) {
  const [least, most] = [Math.min(...scores), Math.max(...scores)];
  const best = largest(scores);
  [...at("scores").children].forEach((line, digit) => {
    const share = (scores[digit] - least) / (most - least || 1);
    line.classList.toggle("best", digit === best);
    line.querySelector(".bar").style.width = `${(100 * share).toFixed(1)}%`;
    line.querySelector(".score").textContent = scores[digit].toFixed(2).replace("-", "\u2212");
    line.dataset.score = scores[digit];
  });
  const strong = document.createElement("strong");
  strong.textContent = best;
  at("digit").replaceChildren("This is a ", strong);
  at("digit").dataset.digit = best;
}

/** Numbers of a ciphertext as shades, and some of its bytes. */
function showCiphertext(bytes, sentBytes) {
  const numbers = Array.from({ length: bytes.length / 4 }, (_, number) =>
    new DataView(bytes.buffer, bytes.byteOffset).getUint32(4 * number, true),
  );
  const most = numbers.reduce((found, each) => Math.max(found, each), 1);
  const canvas = at("theirs");
  const image = new ImageData(canvas.width, canvas.height);
  numbers.forEach((number, place) => {
    const shade = Math.round((255 * number) / most);
    image.data.set([shade, shade, shade, 255], 4 * place);
  });
  canvas.getContext("2d").putImageData(image, 0, 0);
  at("size").textContent = size(sentBytes);
  const shown = Array.from(bytes.subarray(0, SHOWN_BYTES), (byte) => byte.toString(16).padStart(2, "0"));
  at("bytes").textContent = `${shown.join(" ")} …`;
}

const steps = {
  making: ({ count, of }) => say(`Making evaluation keys: ${count} of ${of}`),
  sending: ({ bytes, of }) => say(`Sending evaluation keys: ${size(bytes)} of ${size(of)}`),
  ready(told) {
    state.ready = true;
    say("Ready");
    at("secret").textContent = `made in ${time(told.secretTook)}, stays on this page`;
    at("keys").textContent = `${size(told.bytes)}, made in ${time(told.made)}, sent in ${time(told.sent)}`;
    ask();
  },
  asking: () => say("The server computes on the ciphertext"),
  answer(told) {
    // Of a drawing that was cleared meanwhile nobody asks any more.
    if (!drawing.isEmpty) showScores(told.scores);
    showCiphertext(told.ciphertext, told.sentBytes);
    at("sent").textContent = `${size(told.sentBytes)}, encrypted in ${time(told.encrypted)}`;
    at("received").textContent =
      `${size(told.answerBytes)}, there after ${time(told.answered)}, decrypted in ${time(told.decrypted)}`;
    const took = time(told.encrypted + told.answered + told.decrypted);
    say(`A ${largest(told.scores)}, answered after ${took}`);
    answered();
  },
  failed({ detail }) {
    say(detail, { failed: true });
    answered();
  },
};

worker.onmessage = ({ data }) => steps[data.step](data);
worker.onerror = (event) => say(event.message || "This browser does not run the client", { failed: true });

function addSample({ digit, pixels }) {
  const button = document.createElement("button");
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 4 * PIXELS;
  button.type = "button";
  button.setAttribute("aria-label", `Sample of a ${digit}`);
  button.append(canvas);
  button.addEventListener("click", () => {
    at("hint").hidden = true;
    drawing.show(pixels);
    ask();
  });
  at("samples").append(button);
  const paint = () => paintPixels(canvas.getContext("2d"), pixels, inkOf(canvas));
  paint();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
}

function addScore(digit) {
  const line = document.createElement("li");
  for (const [name, text] of [["digit", digit], ["track", ""], ["score", ""]]) {
    const part = document.createElement("span");
    part.className = name;
    part.textContent = text;
    line.append(part);
  }
  const bar = document.createElement("span");
  bar.className = "bar";
  line.querySelector(".track").append(bar);
  at("scores").append(line);
}

async function start() {
  for (let digit = 0; digit < 10; digit += 1) addScore(digit);
  showNothing();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawing.paint());
  at("clear").addEventListener("click", clear);
  const { recipe, samples } = await (await fetch("facts.json")).json();
  samples.forEach(addSample);
  say("Making the secret key");
  worker.postMessage({ token: location.hash.slice(1), recipe });
}

start().catch((error) => say(error.message, { failed: true }));
