import { OtherVersionError } from '../errors/store-errors.ts';
import { BitReader, BitWriter } from '../storage/bits.ts';
import { packDocument, unpackDocument } from '../storage/packed-document.ts';
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
const VERSION = 12;

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
/** When the slate was shown. */
const [NOT_YET, AT_ONCE, LATER] = [0, 1, 2] as const;
const SHOWN_BITS = 2;

/** The texts that every decision has, as JSON, since nothing else gives back every text; then what only some decisions have. */
type PackedDecision = readonly [version: typeof VERSION, texts: PackedTexts, rest: PackedRest];

type PackedTexts = readonly [
  id: string,
  catalog: string,
  revision: string,
  policy: Decision['policy'],
  extras: readonly string[],
  /** Policy versions in the order of their features; null: the one that decided. */
  versions: readonly (string | null)[],
  /** Fingerprint and hashes that are no digests, in their order. */
  undigested: readonly (string | null)[],
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
  /** Absent when they are numbers of names. */
  readonly candidates?: readonly string[];
  readonly context?: Omit<DecisionContext, 'features'> & { readonly features: readonly number[] };
}

/** For all decisions, since one is encoded without a pause: to allocate its memory takes longer than to write to it. */
const WRITER = new BitWriter();

/** What an index of decisions reads. */
export type IndexedFields = Pick<
  Decision,
  'id' | 'at' | 'deadline' | 'activatedAt' | 'defaultReward' | 'task' | 'thread'
>;

/**
 * Returns a decision as bytes; decoding them gives the same decision bit for bit. Numbers take as many bits as they need, the extra
 * features become columns, and columns are written by how far they are from what follows from others.
 * @param names with all candidates; absent: the record spells them out
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
  // These three first: an index reads nothing else.
  bits.f64(at);
  bits.f64(deadline);
  bits.put(activatedAt === null ? NOT_YET : activatedAt === at ? AT_ONCE : LATER, SHOWN_BITS);
  if (activatedAt !== null && activatedAt !== at) bits.f64(activatedAt);

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
  bits.count(hashes.length);
  let digests = '';
  const undigested: (string | null)[] = [];
  for (const hash of [fingerprint, ...hashes]) {
    const isOne = hash !== null && DIGEST.test(hash);
    bits.bit(isOne);
    if (isOne) digests += hash;
    else undigested.push(hash);
  }
  bits.bit(query.embedding !== null);
  if (query.embedding !== null) bits.vector(query.embedding);
  bits.terms(query.terms);
  bits.bit(names !== undefined);
  if (names !== undefined) writeNumbers(bits, candidates, names);

  const tables = Object.values(features).map((rows) => columnsOf(rows, extras.length));
  for (const { length } of tables) bits.count(length);
  const widths = tables.map(({ length }) => length);
  const { early, predictions } = layoutOf(widths, extras);
  const all = [
    ...FIRST_COLUMNS.map((name) => columns[name]),
    ...tables.flatMap((table, i) => table.slice(0, early[i])),
    ...LAST_COLUMNS.map((name) => columns[name]),
    ...tables.flatMap((table, i) => table.slice(early[i])),
  ];
  writeColumns(bits, all, predictions);

  const versions = Object.keys(features).map((version) => (version === policy.version ? null : version));
  const texts: PackedTexts = [id, catalog, revision, policy, extras, versions, undigested];
  const spelled = names === undefined && { candidates };
  const kept = context && { context: { ...context, features: [...context.features] } };
  const packed: PackedDecision = [VERSION, texts, { ...rest, ...spelled, ...kept }];
  return packDocument(DECISION_TAG, packed, [bits.written, new Uint8Array(Buffer.from(digests, 'hex'))]);
}

/**
 * @param names with which it was encoded
 * @throws LostNamesError; Error when the bytes are no decision, or one that only another version of Bandolier can read
 */
export function decodeDecision(bytes: Uint8Array, names?: NumberedNames): Decision {
  const { texts, rest, bits, digests } = unpacked(bytes);
  const [id, catalog, revision, policy, extras, versions, undigested] = texts;
  const times = readTimes(bits);
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
  const hashes: string[] = [];
  const hashCount = bits.count();
  let [read, others] = [0, 0];
  const nextHash = (): string | null => {
    if (!bits.bit()) return undigested[others++];
    read += DIGEST_DIGITS;
    return digests.slice(read - DIGEST_DIGITS, read);
  };
  const fingerprint = nextHash();
  while (hashes.length < hashCount) hashes.push(nextHash()!);
  const embedding = bits.bit() ? bits.vector() : null;
  const terms = bits.terms();
  const { candidates: spelled, context, ...optional } = rest;
  const candidates = bits.bit() ? readNames(bits, names!, id) : spelled!;

  const widths = versions.map(() => bits.count());
  const { early, predictions } = layoutOf(widths, extras);
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

/** Returns what an index of decisions reads, without the rest. @throws as `decodeDecision` */
export function indexedFieldsOf(bytes: Uint8Array): IndexedFields {
  const { texts, rest, bits } = unpacked(bytes);
  return { ...rest, id: texts[0], ...readTimes(bits) };
}

function unpacked(bytes: Uint8Array) {
  const { json, arrays } = unpackDocument(DECISION_TAG, bytes);
  // The first version did not say which one it was, and the next ones said it as a member.
  const version = Array.isArray(json) ? json[0] : ((json as { version?: number }).version ?? 1);
  if (version !== VERSION) {
    throw new OtherVersionError(`a decision of version ${version}`, VERSION);
  }
  const [, texts, rest] = json as PackedDecision;
  const [numbers, hashes] = arrays as [Uint32Array, Uint8Array];
  const digests = Buffer.from(hashes.buffer, hashes.byteOffset, hashes.length).toString('hex');
  return { texts, rest, bits: new BitReader(numbers), digests };
}

function readTimes(bits: BitReader): Pick<Decision, 'at' | 'deadline' | 'activatedAt'> {
  const [at, deadline, shown] = [bits.f64(), bits.f64(), bits.take(SHOWN_BITS)];
  return { at, deadline, activatedAt: shown === NOT_YET ? null : shown === AT_ONCE ? at : bits.f64() };
}

/** Writes the numbers of the candidates, then the checksum of their names. */
function writeNumbers(bits: BitWriter, candidates: readonly string[], names: NumberedNames): void {
  const numbers = candidates.map((name) => names.numberOf(name));
  bits.integers(numbers);
  bits.put(checksumOf(numbers, names), 32);
}

/** A log of names that was cut off gives its last numbers a second time; the checksum tells the other names. */
function readNames(bits: BitReader, names: NumberedNames, id: string): string[] {
  const numbers = bits.integers();
  const candidates = numbers.map((number) => names.at(number));
  if (checksumOf(numbers, names) === bits.take(32)) return candidates as string[];
  throw new LostNamesError(id);
}

function checksumOf(numbers: readonly number[], names: NumberedNames): number {
  let sum = 0;
  for (const number of numbers) sum = (Math.imul(sum, 31) + names.checksumOf(number)) >>> 0;
  return sum;
}

/** How many columns of the features of each version come first, and from what the columns are told. */
function layoutOf(widths: readonly number[], extras: readonly string[]) {
  const hasLate = extras[extras.length - 1] === LAST_FEATURE;
  const early = widths.map((width) => (hasLate && width === extras.length ? width - 1 : width));
  return { early, predictions: predictionsFor(widths[0] === extras.length ? extras : [], sumOf(early)) };
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
