// Requests to a server of Cloakwork; docs/service.md lists them.

import { sha256 } from "./engine/browser.js";

// Bytes of evaluation keys in a request: so many are sent again where a connection is lost.
const PIECE = 1 << 20;
const WAIT_SECONDS = 20;
const WAITING = 202;

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

export class Service {
  constructor(token) {
    this.token = token;
  }

  /** Send evaluation keys, telling how many bytes are there, and give the hash they are known by. */
  async register(keys, keyId, program, told) {
    const digest = hex(sha256(keys));
    const path = `/v1/keys/${digest}`;
    const found = await this.#asked("HEAD", path);
    let start = Number(found.headers.get("upload-offset"));
    while (found.headers.get("upload-complete") !== "?1" && start < keys.length) {
      const end = Math.min(start + PIECE, keys.length);
      const headers = {
        "upload-offset": `${start}`,
        "upload-complete": `?${Number(end === keys.length)}`,
        "key-id": hex(keyId),
        program,
      };
      await this.#asked("PATCH", path, keys.subarray(start, end), headers);
      start = end;
      told(start);
    }
    return digest;
  }

  /** Have a program run on encrypted inputs, and give the bytes of its results. */
  async run(program, digest, inputs) {
    const request = requestOf(program.fingerprint, digest, inputs);
    const path = `/v1/programs/${program.name}/jobs?keys=${digest}`;
    const headers = { "wait-seconds": `${WAIT_SECONDS}` };
    let found = await this.#asked("POST", path, inputs, headers);
    requireSame(found, request);
    while (found.status === WAITING) {
      const { job } = await found.json();
      found = await this.#asked("GET", `/v1/jobs/${job}`, undefined, headers);
      requireSame(found, request);
    }
    return new Uint8Array(await found.arrayBuffer());
  }

  async #asked(method, path, body, headers = {}) {
    const authorization = `Bearer ${this.token}`;
    const found = await fetch(path, { method, body, headers: { ...headers, authorization } });
    if (found.ok) return found;
    const problem = await found.json().catch(() => ({}));
    throw new Error(problem.detail ?? `the server answers ${found.status} to ${method} ${path}`);
  }
}

/** The hash of all that a result depends on, by which an answer says what it answers. */
function requestOf(program, keys, inputs) {
  const text = new TextEncoder();
  const parts = [text.encode(program), text.encode(keys), sha256(inputs)];
  const all = new Uint8Array(parts.reduce((sum, part) => sum + 8 + part.length, 0));
  let at = 0;
  for (const part of parts) {
    new DataView(all.buffer).setUint32(at, part.length, true);
    all.set(part, at + 8);
    at += 8 + part.length;
  }
  return hex(sha256(all));
}

function requireSame(answer, request) {
  if (answer.headers.get("cloakwork-request") !== request) {
    throw new Error("the server answers another request than this one");
  }
}
