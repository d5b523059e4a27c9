// Containers, as Cloakwork saves everything: a zip file of bytes, none compressed, and a header in
// JSON that says which bytes stand where. See python/cloakwork/runtime/container.py.

const HEADER = "header.json";
const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const END_BYTES = 22;
// The first of January 1980, so that bytes do not depend on when they are written.
const DATE = 0x21;

const CRCS = Uint32Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit += 1) byte = byte & 1 ? (byte >>> 1) ^ 0xedb88320 : byte >>> 1;
  return byte;
});

function crc32(data) {
  let crc = 0xffffffff;
  for (const byte of data) crc = (crc >>> 8) ^ CRCS[(crc ^ byte) & 0xff];
  return (crc ^ 0xffffffff) >>> 0;
}

/** The bytes of a container of a kind, whose record has numbers, text, lists, records and bytes. */
export function written(version, kind, record) {
  const members = [];

  function plain(value) {
    if (value instanceof Uint8Array) {
      members.push({ name: `${members.length}`, data: value });
      return { bytes: members.at(-1).name, length: value.length };
    }
    if (Array.isArray(value)) return value.map(plain);
    if (value === null || typeof value !== "object") return value;
    const entries = Object.entries(value).map(([name, each]) => [name, plain(each)]);
    return { record: Object.fromEntries(entries) };
  }

  const head = { version, kind, salt: null, content: plain(record) };
  members.push({ name: HEADER, data: new TextEncoder().encode(JSON.stringify(head)) });
  return zip(members);
}

function zip(members) {
  const told = members.map(({ name, data }) => ({
    name: new TextEncoder().encode(name),
    data,
    crc: crc32(data),
  }));
  const size = told.reduce(
    (sum, { name, data }) => sum + LOCAL_BYTES + CENTRAL_BYTES + 2 * name.length + data.length,
    END_BYTES,
  );
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const member of told) {
    member.offset = at;
    view.setUint32(at, LOCAL, true);
    described(view, at + 4, member);
    bytes.set(member.name, at + LOCAL_BYTES);
    bytes.set(member.data, at + LOCAL_BYTES + member.name.length);
    at += LOCAL_BYTES + member.name.length + member.data.length;
  }
  const directory = at;
  for (const member of told) {
    view.setUint32(at, CENTRAL, true);
    view.setUint16(at + 4, 20, true);
    described(view, at + 6, member);
    view.setUint32(at + 42, member.offset, true);
    bytes.set(member.name, at + CENTRAL_BYTES);
    at += CENTRAL_BYTES + member.name.length;
  }
  view.setUint32(at, END, true);
  view.setUint16(at + 8, told.length, true);
  view.setUint16(at + 10, told.length, true);
  view.setUint32(at + 12, at - directory, true);
  view.setUint32(at + 16, directory, true);
  return bytes;
}

/** What both headers of a member say of it. */
function described(view, at, { name, data, crc }) {
  view.setUint16(at, 20, true);
  view.setUint16(at + 8, DATE, true);
  view.setUint32(at + 10, crc, true);
  view.setUint32(at + 14, data.length, true);
  view.setUint32(at + 18, data.length, true);
  view.setUint16(at + 22, name.length, true);
}

/** The record of a container of a kind; throws where the bytes are damaged or of another kind. */
export function read(version, kind, bytes) {
  const members = unzip(bytes);
  const head = JSON.parse(new TextDecoder().decode(members.get(HEADER)));
  if (head.version !== version || head.kind !== kind) {
    throw new Error(`expected the version ${version} of a ${kind}, got ${head.version} of a ${head.kind}`);
  }
  const used = new Map();

  function restored(value) {
    if (Array.isArray(value)) return value.map(restored);
    if (value === null || typeof value !== "object") return value;
    if ("record" in value) {
      const entries = Object.entries(value.record).map(([name, each]) => [name, restored(each)]);
      return Object.fromEntries(entries);
    }
    const member = members.get(value.bytes);
    const start = used.get(value.bytes) ?? 0;
    if (!member || !(value.length <= member.length - start)) {
      throw new Error("the answer is damaged: bytes are missing");
    }
    used.set(value.bytes, start + value.length);
    return member.subarray(start, start + value.length);
  }

  return restored(head.content);
}

function unzip(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const end = bytes.length - END_BYTES;
  if (end < 0 || view.getUint32(end, true) !== END) throw new Error("the answer is cut off");
  const members = new Map();
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0; left -= 1) {
    const [crc, size] = [view.getUint32(at + 16, true), view.getUint32(at + 24, true)];
    const [length, offset] = [view.getUint16(at + 28, true), view.getUint32(at + 42, true)];
    const name = new TextDecoder().decode(bytes.subarray(at + CENTRAL_BYTES, at + CENTRAL_BYTES + length));
    const start = offset + LOCAL_BYTES + view.getUint16(offset + 26, true) + view.getUint16(offset + 28, true);
    const data = bytes.subarray(start, start + size);
    if (view.getUint16(at + 10, true) !== 0 || data.length !== size || crc32(data) !== crc) {
      throw new Error(`the answer is damaged at ${name}`);
    }
    members.set(name, data);
    at += CENTRAL_BYTES + length + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return members;
}
