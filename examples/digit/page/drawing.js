// The drawing: strokes on a canvas, and the 8 by 8 pixels that the network knows digits by.

// Parts of the canvas's side.
const PEN = 0.075;
// The network's digits were bitmaps of 32 by 32 that a digit fills from top to bottom; a pixel is
// how many of a block of 4 by 4 are set.
const SIDE = 32;
const BLOCK = 4;
const STROKE = 5.6;
const WIDEST = 26;
// What is smaller than this part of the canvas is not enlarged further.
const LEAST = 0.12;

export const PIXELS = SIDE / BLOCK;

export class Drawing {
  /** Draw on a canvas; `begun` is called at the first point of a stroke, `ended` after the last. */
  constructor(canvas, { begun, ended }) {
    this.canvas = canvas;
    this.strokes = [];
    this.sample = null;
    this.pointer = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (this.pointer !== null || event.button !== 0) return;
      if (this.sample) this.clear();
      this.pointer = event.pointerId;
      canvas.setPointerCapture(event.pointerId);
      this.strokes.push([this.#place(event)]);
      begun();
      this.paint();
    });
    canvas.addEventListener("pointermove", (event) => {
      if (event.pointerId !== this.pointer) return;
      const events = event.getCoalescedEvents?.() ?? [];
      const points = (events.length ? events : [event]).map((each) => this.#place(each));
      this.strokes.at(-1).push(...points);
      this.paint();
    });
    for (const name of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(name, (event) => {
        if (event.pointerId !== this.pointer) return;
        this.pointer = null;
        ended();
      });
    }
    new ResizeObserver(() => this.paint()).observe(canvas);
  }

  get isEmpty() {
    return this.strokes.length === 0 && this.sample === null;
  }

  clear() {
    [this.strokes, this.sample] = [[], null];
    this.paint();
  }

  /** Show pixels instead of strokes. */
  show(pixels) {
    [this.strokes, this.sample] = [[], pixels];
    this.paint();
  }

  /** The drawing as the network sees it, row by row, from 0 to 1. */
  pixels() {
    return this.sample ?? blocks(normalised(this.strokes));
  }

  paint() {
    const { canvas } = this;
    const side = Math.round(canvas.clientWidth * devicePixelRatio);
    if (canvas.width !== side) canvas.width = canvas.height = side;
    const context = canvas.getContext("2d");
    const ink = getComputedStyle(canvas).color;
    context.clearRect(0, 0, side, side);
    if (this.sample) return paintPixels(context, this.sample, ink);
    Object.assign(context, { strokeStyle: ink, lineWidth: PEN * side, lineCap: "round", lineJoin: "round" });
    for (const [first, ...others] of this.strokes) {
      context.beginPath();
      context.moveTo(first.x * side, first.y * side);
      // A point by itself is a dot.
      for (const { x, y } of others.length ? others : [first]) context.lineTo(x * side, y * side);
      context.stroke();
    }
    return undefined;
  }

  #place({ clientX, clientY }) {
    const box = this.canvas.getBoundingClientRect();
    return { x: (clientX - box.left) / box.width, y: (clientY - box.top) / box.height };
  }
}

/** Fill a square canvas with 8 by 8 pixels of an ink. */
export function paintPixels(context, pixels, ink) {
  const side = context.canvas.width / PIXELS;
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  context.fillStyle = ink;
  pixels.forEach((pixel, number) => {
    const [left, top] = [number % PIXELS, Math.floor(number / PIXELS)].map((each) => Math.round(each * side));
    context.globalAlpha = pixel;
    context.fillRect(left, top, Math.ceil(side), Math.ceil(side));
  });
  context.globalAlpha = 1;
}

/** Strokes in units of the bitmap, as large as it takes them, and in its middle. */
function normalised(strokes) {
  const points = strokes.flat();
  const [left, right] = extent(points.map(({ x }) => x));
  const [top, bottom] = extent(points.map(({ y }) => y));
  const [width, height] = [Math.max(right - left, LEAST), Math.max(bottom - top, LEAST)];
  const factor = Math.min((SIDE - STROKE) / height, (WIDEST - STROKE) / width);
  return strokes.map((stroke) =>
    stroke.map(({ x, y }) => ({
      x: SIDE / 2 + factor * (x - (left + right) / 2),
      y: SIDE / 2 + factor * (y - (top + bottom) / 2),
    })),
  );
}

function extent(numbers) {
  return numbers.reduce(([least, most], each) => [Math.min(least, each), Math.max(most, each)], [1, 0]);
}

/** How much of each block of the bitmap strokes cover, from 0 to 1. */
function blocks(strokes) {
  const pixels = new Array(PIXELS * PIXELS).fill(0);
  for (let y = 0; y < SIDE; y += 1) {
    for (let x = 0; x < SIDE; x += 1) {
      const middle = { x: x + 0.5, y: y + 0.5 };
      if (strokes.some((stroke) => distance(middle, stroke) <= STROKE / 2)) {
        pixels[PIXELS * Math.floor(y / BLOCK) + Math.floor(x / BLOCK)] += 1 / BLOCK ** 2;
      }
    }
  }
  return pixels;
}

function distance(point, stroke) {
  const ends = stroke.slice(1);
  const pieces = ends.length ? ends.map((end, number) => [stroke[number], end]) : [[stroke[0], stroke[0]]];
  return Math.min(...pieces.map(([start, end]) => distanceToPiece(point, start, end)));
}

function distanceToPiece(point, start, end) {
  const [dx, dy] = [end.x - start.x, end.y - start.y];
  const length = dx * dx + dy * dy;
  const along = length ? ((point.x - start.x) * dx + (point.y - start.y) * dy) / length : 0;
  const part = Math.min(1, Math.max(0, along));
  return Math.hypot(point.x - start.x - part * dx, point.y - start.y - part * dy);
}
