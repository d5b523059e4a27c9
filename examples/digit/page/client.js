// The client: has the secret key, encrypts, decrypts. It works beside the page, which stays quick.

import init, { Client } from "./engine/browser.js";
import * as container from "./container.js";
import { Service } from "./service.js";

const INPUTS = "run inputs file";
const RESULTS = "encrypted values file";
const KEYS = "evaluation keys file";
// Bytes of a ciphertext that the page shows: as many numbers as a square of 64 by 64 has.
const SHOWN = 4 * 64 * 64;
// By how much a result may exceed its bound as doubles round.
const ROUNDING = 2 ** -40;

const told = (step, facts = {}) => postMessage({ step, ...facts });

/** What a piece of work gives, and how many milliseconds it took. */
async function timed(work) {
  const start = performance.now();
  const value = await work();
  return { value, took: performance.now() - start };
}

class Asking {
  static async prepared(token, recipe) {
    await init();
    return new Asking(token, recipe);
  }

  constructor(token, recipe) {
    this.recipe = recipe;
    this.service = new Service(token);
    this.parameters = Uint8Array.from(atob(recipe.parameters), (each) => each.charCodeAt(0));
  }

  /** Make the secret key and the evaluation keys, and send these. */
  async register() {
    const secret = await timed(() => new Client(this.parameters));
    this.client = secret.value;
    const made = await timed(() => this.#evaluationKeys());
    const { fingerprint } = this.recipe.program;
    const sent = await timed(() =>
      this.service.register(made.value, this.client.keyId, fingerprint, (bytes) =>
        told("sending", { bytes, of: made.value.length }),
      ),
    );
    this.digest = sent.value;
    told("ready", {
      bytes: made.value.length,
      secretTook: secret.took,
      made: made.took,
      sent: sent.took,
      slots: this.client.slots,
    });
  }

  #evaluationKeys() {
    const { relinearisation, rotations } = this.recipe.keys;
    const all = rotations.length + (relinearisation === null ? 0 : 1);
    const keys = [];
    const add = (key) => {
      keys.push(key);
      told("making", { count: keys.length, of: all });
    };
    if (relinearisation !== null) add(this.client.relinearisationKey(relinearisation));
    for (const [steps, level] of rotations) add(this.client.rotationKey(steps, level));
    const scheme = { scheme: "ckks", parameters: this.parameters, public_inputs: false };
    const record = { scheme, key_id: this.client.keyId, evaluation_keys: { keys } };
    return container.written(this.recipe.container, KEYS, record);
  }

  /** The scores of a drawing, which the server computes without seeing it. */
  async ask(pixels) {
    const encrypted = await timed(() => this.#encrypted(pixels));
    told("asking", { bytes: encrypted.value.file.length });
    const { program } = this.recipe;
    const answered = await timed(() =>
      this.service.run(program, this.digest, encrypted.value.file),
    );
    const decrypted = await timed(() => this.#decrypted(answered.value));
    told("answer", {
      scores: decrypted.value,
      ciphertext: encrypted.value.ciphertext.slice(-SHOWN),
      sentBytes: encrypted.value.file.length,
      answerBytes: answered.value.length,
      encrypted: encrypted.took,
      answered: answered.took,
      decrypted: decrypted.took,
    });
  }

  #encrypted(pixels) {
    const { name, numbers, low, high, level, bound } = this.recipe.input;
    if (pixels.some((pixel) => !(low <= pixel && pixel <= high))) {
      throw new Error(`a pixel lies outside of ${low} to ${high}`);
    }
    const slots = Float64Array.from(numbers, (number) => (number < 0 ? 0 : pixels[number]));
    const ciphertext = this.client.encrypt(slots, level, bound);
    const encrypted = {
      program: this.recipe.program.fingerprint,
      role: "inputs",
      ports: [name],
      count: 1,
      key_id: this.client.keyId,
      runs: [{ numbers: [0], values: [{ data: ciphertext }] }],
    };
    const record = { encrypted: [encrypted], clear: [] };
    return { ciphertext, file: container.written(this.recipe.container, INPUTS, record) };
  }

  #decrypted(answer) {
    const { slots, level, scale, deviation, bound, error } = this.recipe.result;
    const record = container.read(this.recipe.container, RESULTS, answer);
    const [run] = record.runs;
    const isOurs = record.program === this.recipe.program.fingerprint && record.role === "outputs";
    if (!isOurs || record.runs.length !== 1 || run.values.length !== 1) {
      throw new Error("the answer is of another program");
    }
    const numbers = this.client.decrypt(run.values[0].data, level, scale, deviation, bound);
    const found = slots.map((slot) => numbers[slot]);
    if (!found.every((number) => Math.abs(number) <= bound * (1 + ROUNDING) + error)) {
      throw new Error(`a result exceeds ${bound}, the most that it can be, so it is not right`);
    }
    return found;
  }
}

let asking;

onmessage = async ({ data }) => {
  try {
    if ("recipe" in data) {
      asking = await Asking.prepared(data.token, data.recipe);
      await asking.register();
    } else {
      await asking.ask(data.pixels);
    }
  } catch (error) {
    told("failed", { detail: error.message ?? `${error}` });
  }
};
