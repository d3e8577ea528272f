import { type EnsembleParts, TreeEnsemble, TreesUnreadableError } from './tree-ensemble.ts';

/**
 * An ensemble of trees as bytes. Little-endian, nothing between:
 *
 *   "BTRE" | version u32 | head u32 (bytes)
 *   head: UTF-8 JSON {names, lengths: {name of an array: its length}}
 *   thresholds, leaves f64 · roots, lefts, rights i32 · categories, categoryStarts u32 · features u16 · flags u8
 */
const MAGIC = [0x42, 0x54, 0x52, 0x45];
const VERSION = 1;
const HEAD_FROM = 12;

const LAYOUT = [
  ['thresholds', Float64Array],
  ['leaves', Float64Array],
  ['roots', Int32Array],
  ['lefts', Int32Array],
  ['rights', Int32Array],
  ['categories', Uint32Array],
  ['categoryStarts', Uint32Array],
  ['features', Uint16Array],
  ['flags', Uint8Array],
] as const;

/** Returns bytes of which `decodeTrees` makes the same ensemble. */
export function encodeTrees({ parts }: TreeEnsemble): Uint8Array {
  const lengths = Object.fromEntries(LAYOUT.map(([name]) => [name, parts[name].length]));
  const head = new TextEncoder().encode(JSON.stringify({ names: parts.names, lengths }));
  const size = LAYOUT.reduce((sum, [name]) => sum + parts[name].byteLength, HEAD_FROM + head.length);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  view.setUint32(4, VERSION, true);
  view.setUint32(8, head.length, true);
  bytes.set(head, HEAD_FROM);
  let at = HEAD_FROM + head.length;
  for (const [name] of LAYOUT) {
    const { buffer, byteOffset, byteLength } = parts[name];
    bytes.set(new Uint8Array(buffer, byteOffset, byteLength), at);
    at += byteLength;
  }
  return bytes;
}

/** @throws TreesUnreadableError when the bytes are damaged, cut short, of another version, or no trees */
export function decodeTrees(bytes: Uint8Array): TreeEnsemble {
  const fail = (what: string): never => {
    throw new TreesUnreadableError(`These bytes hold no trees that can be used: ${what}.`);
  };
  if (bytes.length < HEAD_FROM || MAGIC.some((byte, at) => bytes[at] !== byte)) {
    fail('they do not begin with BTRE');
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getUint32(4, true);
  if (version !== VERSION) fail(`they have version ${version}, and ${VERSION} is read here`);
  const headEnd = HEAD_FROM + view.getUint32(8, true);
  let head: { names: string[]; lengths: Record<string, number> };
  try {
    head = JSON.parse(new TextDecoder().decode(bytes.subarray(HEAD_FROM, headEnd)));
  } catch {
    return fail('their head is damaged');
  }
  let at = headEnd;
  const arrays = LAYOUT.map(([name, Kind]) => {
    const size = head.lengths?.[name] * Kind.BYTES_PER_ELEMENT;
    if (!(at + size <= bytes.length)) fail(`${name} is cut short`);
    // A copy, whatever kind of array of bytes this is: a slice of Node's Buffer would not be one.
    const array = new Kind(new Uint8Array(bytes.subarray(at, at + size)).buffer);
    at += size;
    return [name, array];
  });
  if (at !== bytes.length) fail('there is more behind their end');
  if (!Array.isArray(head.names)) fail('their head is damaged');
  return new TreeEnsemble({ names: head.names, ...Object.fromEntries(arrays) } as EnsembleParts);
}
