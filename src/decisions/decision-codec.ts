import { OtherVersionError } from '../errors/store-errors.ts';
import { readId, writeId } from '../ledger/usual-id.ts';
import { BitReader } from '../storage/bit-reader.ts';
import { BitWriter } from '../storage/bit-writer.ts';
import { asDamage, packDocument, unpackDocument } from '../storage/packed-document.ts';
import { FIRST_COLUMNS, LAST_COLUMNS, LAST_FEATURE, predictionsFor } from './column-predictions.ts';
import {
  type Decision,
  type DecisionColumns,
  type DecisionContext,
  FALLBACKS,
  SLATE_FORMATS,
  SLATE_REASONS,
} from './decision.ts';
import { LostNamesError, type NumberedNames } from './decision-names.ts';
import { readColumns, writeColumns } from './packed-columns.ts';

/** Tag of a packed decision; ledger entries, snapshots and activations have 1, 3 and 4. */
export const DECISION_TAG = 2;
/** Of the JSON of a decision. */
const VERSION = 13;

/** A new value goes to the end of its list, and needs a new version, in the lists that stand elsewhere as well. */
const EXPLORATIONS = ['plackett-luce', 'ucb', 'greedy'] as const;
const METHODS = ['exact', 'deterministic'] as const;
const DETAILS = ['names', 'brief', 'full'] as const;
const ACTIVATIONS = ['now', 'later'] as const;
const FALLBACK_OR_NONE = [null, ...FALLBACKS] as const;
const CHOICE_BITS = 4;
/** A hash that is kept as bytes. */
const DIGEST = /^[0-9a-f]{32}$/;
const DIGEST_DIGITS = 32;
const NO_DIGESTS = new Uint8Array(0);
/** When the slate was shown. */
const [NOT_YET, AT_ONCE, LATER] = [0, 1, 2] as const;
const SHOWN_BITS = 2;

/** What is JSON, since nothing else gives back every text. */
type PackedDecision = readonly [
  version: typeof VERSION,
  catalog: string,
  /** What `writeId` leaves of it; 0: the catalog. */
  id: string | 0,
  revision: string,
  /** Absent: it is empty. */
  rest?: PackedRest,
];

/** What decisions of one catalog have in common while its policy is the same: a name like those of its candidates. */
type PackedCommon = readonly [
  policy: Decision['policy'],
  extras: readonly string[],
  /** Policy versions in the order of their features; null: the one that decided. */
  versions: readonly (string | null)[],
  fingerprint: string | null,
];

interface PackedRest
  extends Pick<
    Decision,
    | (
        | 'text'
        | 'split'
        | 'rerank'
        | 'domain'
        | 'slateBy'
        | 'defaultReward'
        | 'unit'
        | 'task'
        | 'request'
        | 'merged'
      )
    | ('notes' | 'assignments' | 'budget' | 'instructions' | 'rating' | 'discoveries' | 'carried' | 'thread')
  > {
  /** These three are absent when they are numbers of names. */
  readonly common?: PackedCommon;
  readonly candidates?: readonly string[];
  /** Hashes that are no digests, in their order. */
  readonly undigested?: readonly string[];
  readonly context?: Omit<DecisionContext, 'features'> & { readonly features: readonly number[] };
}

/** For all decisions, since one is encoded without a pause: to allocate its memory takes longer than to write to it. */
const WRITER = new BitWriter();

/** Returns the texts of a decision that are numbers where texts have numbers: what it has in common with others, candidates and hashes. */
export function namesIn(decision: Decision): readonly string[] {
  return [JSON.stringify(commonOf(decision)), ...decision.candidates, ...decision.hashes];
}

/** What an index of decisions reads. */
export type IndexedFields = Pick<
  Decision,
  'id' | 'at' | 'deadline' | 'activatedAt' | 'defaultReward' | 'task' | 'thread'
>;

/**
 * Returns a decision as bytes; decoding them gives the same decision bit for bit. Numbers take as many bits as they need, the extra
 * features become columns, and columns are written by how far they are from what follows from others.
 * @param names with all of `namesIn`; absent: the record spells them out
 */
export function encodeDecision(decision: Decision, names?: NumberedNames): Buffer {
  // One pattern: each `...rest` copies the record.
  const {
    id,
    catalog,
    revision,
    policy,
    extras,
    fingerprint,
    hashes,
    at,
    deadline,
    activatedAt,
    position,
    k,
    learn,
    slate,
    reasons,
    exploration,
    propensityMethod,
    format,
    detail,
    fallback,
    activation,
    query,
    temperature,
    logProbability,
    sufficiency,
    columns,
    features,
    candidates,
    context,
    ...rest
  } = decision;
  const bits = WRITER.emptied();
  // These first: an index reads nothing else.
  bits.f64(at);
  const window = deadline - at;
  // Of fractions, the sum may be another number.
  const isWindow = isCount(window) && at + window === deadline;
  bits.bit(isWindow);
  if (isWindow) bits.count(window);
  else bits.f64(deadline);
  bits.put(activatedAt === null ? NOT_YET : activatedAt === at ? AT_ONCE : LATER, SHOWN_BITS);
  if (activatedAt !== null && activatedAt !== at) bits.f64(activatedAt);
  const idRest = writeId(bits, id, at);

  bits.count(position);
  bits.count(k);
  bits.bit(learn);
  bits.put(EXPLORATIONS.indexOf(exploration), CHOICE_BITS);
  bits.put(METHODS.indexOf(propensityMethod), CHOICE_BITS);
  bits.put(SLATE_FORMATS.indexOf(format), CHOICE_BITS);
  bits.put(DETAILS.indexOf(detail), CHOICE_BITS);
  bits.put(FALLBACK_OR_NONE.indexOf(fallback), CHOICE_BITS);
  bits.put(ACTIVATIONS.indexOf(activation), CHOICE_BITS);
  bits.f64(temperature);
  bits.f64(logProbability);
  bits.bit(sufficiency !== undefined);
  if (sufficiency !== undefined) bits.f64(sufficiency);
  bits.integers(slate);
  bits.integers(reasons.map((reason) => SLATE_REASONS.indexOf(reason)));
  bits.bit(query.embedding !== null);
  if (query.embedding !== null) bits.vector(query.embedding);
  bits.terms(query.terms);
  bits.bit(names !== undefined);
  const common = commonOf(decision);
  const spelledHashes = names === undefined ? packHashes(bits, hashes) : NO_HASHES;
  if (names !== undefined) writeNames(bits, [[JSON.stringify(common)], hashes, candidates], names);

  const tables = Object.values(features).map((rows) => columnsOf(rows, extras.length));
  for (const { length } of tables) bits.count(length);
  const widths = tables.map(({ length }) => length);
  const { early, predictions } = layoutOf(widths, decision);
  const all = [
    ...FIRST_COLUMNS.map((name) => columns[name]),
    ...tables.flatMap((table, i) => table.slice(0, early[i])),
    ...LAST_COLUMNS.map((name) => columns[name]),
    ...tables.flatMap((table, i) => table.slice(early[i])),
  ];
  writeColumns(bits, all, predictions);

  const spelled = names === undefined && { common, candidates };
  const { undigested, digests } = spelledHashes;
  const others = undigested.length > 0 && { undigested };
  const kept = context && { context: { ...context, features: [...context.features] } };
  const json: PackedRest = { ...rest, ...spelled, ...others, ...kept };
  const packed: PackedDecision = [VERSION, catalog, idRest === catalog ? 0 : idRest, revision];
  const isEmpty = Object.keys(json).length === 0;
  const arrays =
    digests === '' ? [bits.written] : [bits.written, new Uint8Array(Buffer.from(digests, 'hex'))];
  return packDocument(DECISION_TAG, isEmpty ? packed : [...packed, json], arrays);
}

/**
 * @param names with which it was encoded
 * @throws LostNamesError; Error when the bytes are no decision, or one that only another version of Bandolier can read
 */
export function decodeDecision(bytes: Uint8Array, names?: NumberedNames): Decision {
  try {
    return read(bytes, names);
  } catch (error) {
    throw asDamage(error);
  }
}

/** Returns what an index of decisions reads, without the rest. @throws as `decodeDecision` */
export function indexedFieldsOf(bytes: Uint8Array): IndexedFields {
  try {
    const { id, rest, times } = unpacked(bytes);
    return { ...rest, id, ...times };
  } catch (error) {
    throw asDamage(error);
  }
}

function read(bytes: Uint8Array, names: NumberedNames | undefined): Decision {
  const { catalog, id, revision, rest, bits, digests, times } = unpacked(bytes);
  const position = bits.count();
  const k = bits.count();
  const learn = bits.bit();
  const exploration = EXPLORATIONS[bits.take(CHOICE_BITS)];
  const propensityMethod = METHODS[bits.take(CHOICE_BITS)];
  const format = SLATE_FORMATS[bits.take(CHOICE_BITS)];
  const detail = DETAILS[bits.take(CHOICE_BITS)];
  const fallback = FALLBACK_OR_NONE[bits.take(CHOICE_BITS)];
  const activation = ACTIVATIONS[bits.take(CHOICE_BITS)];
  const temperature = bits.f64();
  const logProbability = bits.f64();
  const sufficiency = bits.bit() ? bits.f64() : undefined;
  const slate = bits.integers();
  const reasons = bits.integers().map((index) => SLATE_REASONS[index]);
  const embedding = bits.bit() ? bits.vector() : null;
  const terms = bits.terms();
  const { common: spelled, candidates: listed, undigested, context, ...optional } = rest;
  let common = spelled!;
  let candidates = listed!;
  let hashes: readonly string[];
  if (bits.bit()) {
    let texts: readonly string[];
    [texts, hashes, candidates] = readNames(bits, 3, names!, id);
    common = JSON.parse(texts[0]);
  } else {
    hashes = readHashes(bits, digests, undigested ?? []);
  }
  const [policy, extras, versions, fingerprint] = common;

  const widths = versions.map(() => bits.length());
  const { early, predictions } = layoutOf(widths, { extras, k, temperature });
  let at = FIRST_COLUMNS.length;
  const lastAt = at + sumOf(early);
  let lateAt = lastAt + LAST_COLUMNS.length;
  const all = readColumns(bits, FIRST_COLUMNS.length + LAST_COLUMNS.length + sumOf(widths), predictions);
  const columns: Partial<Record<keyof DecisionColumns, Float32Array>> = {};
  for (const [i, name] of FIRST_COLUMNS.entries()) columns[name] = all[i];
  for (const [i, name] of LAST_COLUMNS.entries()) columns[name] = all[lastAt + i];
  const features = versions.map((version, i) => {
    const table = all.slice(at, at + early[i]);
    at += early[i];
    const late = widths[i] - early[i];
    table.push(...all.slice(lateAt, lateAt + late));
    lateAt += late;
    return [version ?? policy.version, rowsOf(table)] as const;
  });
  return {
    id,
    catalog,
    revision,
    policy,
    extras,
    fingerprint,
    hashes,
    position,
    k,
    learn,
    slate,
    reasons,
    exploration,
    propensityMethod,
    format,
    detail,
    fallback,
    activation,
    temperature,
    logProbability,
    candidates,
    query: { embedding, terms },
    columns: columns as DecisionColumns,
    ...times,
    ...(sufficiency !== undefined && { sufficiency }),
    ...optional,
    ...(context && { context: { ...context, features: Float32Array.from(context.features) } }),
    features: Object.fromEntries(features),
  };
}

function unpacked(bytes: Uint8Array) {
  const { json, arrays } = unpackDocument(DECISION_TAG, bytes);
  // The first version did not say which one it was, and the next ones said it as a member.
  const version = Array.isArray(json) ? json[0] : ((json as { version?: number }).version ?? 1);
  if (version !== VERSION) {
    throw new OtherVersionError(`a decision of version ${version}`, VERSION);
  }
  const [, catalog, spelled, revision, rest = {}] = json as PackedDecision;
  const [numbers, digests = NO_DIGESTS] = arrays as [Uint32Array, Uint8Array?];
  const bits = new BitReader(numbers);
  const at = bits.f64();
  const deadline = bits.bit() ? at + bits.count() : bits.f64();
  const shown = bits.take(SHOWN_BITS);
  const activatedAt = shown === NOT_YET ? null : shown === AT_ONCE ? at : bits.f64();
  const id = readId(bits, spelled === 0 ? catalog : spelled, at);
  return { catalog, id, revision, rest, bits, digests, times: { at, deadline, activatedAt } };
}

function commonOf({ policy, extras, features, fingerprint }: Decision): PackedCommon {
  const versions = Object.keys(features).map((version) => (version === policy.version ? null : version));
  return [policy, extras, versions, fingerprint];
}

interface PackedHashes {
  /** Those that are digests, one after the other. */
  readonly digests: string;
  readonly undigested: readonly string[];
}

const NO_HASHES: PackedHashes = { digests: '', undigested: [] };

/** Writes which hashes are digests. */
function packHashes(bits: BitWriter, hashes: readonly string[]): PackedHashes {
  let digests = '';
  const undigested: string[] = [];
  bits.count(hashes.length);
  for (const hash of hashes) {
    const isDigest = DIGEST.test(hash);
    bits.bit(isDigest);
    if (isDigest) digests += hash;
    else undigested.push(hash);
  }
  return { digests, undigested };
}

function readHashes(bits: BitReader, digests: Uint8Array, undigested: readonly string[]): string[] {
  const digits = Buffer.from(digests.buffer, digests.byteOffset, digests.length).toString('hex');
  const hashes: string[] = [];
  let [read, others] = [0, 0];
  for (let count = bits.length(); count > 0; count--) {
    const isDigest = bits.bit();
    hashes.push(isDigest ? digits.slice(read, read + DIGEST_DIGITS) : undigested[others++]);
    if (isDigest) read += DIGEST_DIGITS;
  }
  return hashes;
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0);
}

/** Writes lists of names by their numbers, then the checksum of the names. */
function writeNames(bits: BitWriter, lists: readonly (readonly string[])[], names: NumberedNames): void {
  let sum = 0;
  for (const list of lists) {
    const numbers: number[] = [];
    for (const name of list) numbers.push(names.numberOf(name));
    bits.integers(numbers);
    sum = checksumOf(numbers, names, sum);
  }
  bits.put(sum, 32);
}

/** A log of names that was cut off gives its last numbers a second time; the checksum tells the other names. */
function readNames(bits: BitReader, count: number, names: NumberedNames, id: string): string[][] {
  const lists: string[][] = [];
  let sum = 0;
  while (lists.length < count) {
    const numbers = bits.integers();
    lists.push(numbers.map((number) => names.at(number)!));
    sum = checksumOf(numbers, names, sum);
  }
  if (sum === bits.take(32)) return lists;
  throw new LostNamesError(id);
}

function checksumOf(numbers: readonly number[], names: NumberedNames, before: number): number {
  let sum = before;
  for (const number of numbers) sum = (Math.imul(sum, 31) + names.checksumOf(number)) >>> 0;
  return sum;
}

/** How many columns of the features of each version come first, and from what the columns are told. */
function layoutOf(
  widths: readonly number[],
  { extras, k, temperature }: Pick<Decision, 'extras' | 'k' | 'temperature'>,
) {
  const hasLate = extras[extras.length - 1] === LAST_FEATURE;
  const early = widths.map((width) => (hasLate && width === extras.length ? width - 1 : width));
  const features = widths[0] === extras.length ? extras : [];
  return { early, predictions: predictionsFor({ features, early: sumOf(early), k, temperature }) };
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Returns the columns of a row-major table; one column if it is none. */
function columnsOf(rows: Float32Array, width: number): Float32Array[] {
  const length = rows.length / width;
  if (width < 2 || rows.length === 0 || !Number.isInteger(length)) return [rows];
  const turned = new Float32Array(rows.length);
  const columns: Float32Array[] = [];
  for (let column = 0; column < width; column++) {
    const start = column * length;
    for (let row = 0; row < length; row++) turned[start + row] = rows[row * width + column];
    columns.push(turned.subarray(start, start + length));
  }
  return columns;
}

function rowsOf(columns: readonly Float32Array[]): Float32Array {
  const width = columns.length;
  if (width === 1) return columns[0];
  const rows = new Float32Array(columns[0].length * width);
  for (let at = 0; at < width; at++) {
    const column = columns[at];
    for (let row = 0; row < column.length; row++) rows[row * width + at] = column[row];
  }
  return rows;
}
