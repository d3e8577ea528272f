import { BitReader } from '../storage/bit-reader.ts';
import { BitWriter } from '../storage/bit-writer.ts';
import type { NumberArray } from '../storage/packed-document.ts';
import {
  type DiscoveryEntry,
  type ObservationEntry,
  type ObservedDecision,
  type ObservedSufficiency,
  OUTCOMES,
  type OutcomeReport,
  type SettlementEntry,
} from './entry.ts';
import { readTables, writeTables } from './observed-tables.ts';
import { readId, writeId } from './usual-id.ts';

/** For all entries with a decision, since one is encoded without a pause. */
const WRITER = new BitWriter();

export type PackedSettlement = Packed<SettlementEntry> | Packed<DiscoveryEntry>;

type Packed<Known extends { decision: ObservedDecision }> = Omit<Known, 'decision'> & {
  readonly decision: PackedObserved;
};

export type PackedObservation = Omit<ObservationEntry, 'at' | 'closes' | 'key' | 'decision' | 'reports'> & {
  /** Absent: the usual one, of its first report. */
  readonly key?: string | undefined;
  readonly decision: PackedObserved;
  /** Absent: none of them says more than most do. */
  readonly reports?: readonly PackedReport[] | undefined;
};

/** What only some reports have. */
type PackedReport = Pick<OutcomeReport, 'occurredAt' | 'rating'> & {
  /** Absent: the id of the decision and a random number. */
  readonly id?: string;
  /** Absent: a tool of the decision. */
  readonly tool?: string | null;
  /** Absent: the same as that of the entry. */
  readonly at?: number;
};

const OUTCOME_BITS = 4;
/** What follows the id of its decision in the usual id of a reward. */
const REWARD = /^\.[0-9a-f]{16}$/;
const REWARD_DIGITS = 16;

/** Returns what goes into a document. Its array is valid until the next entry is packed. */
export function packObservation({
  at,
  closes,
  key,
  ...entry
}: ObservationEntry): readonly [PackedObservation, readonly NumberArray[]] {
  const bits = WRITER.emptied();
  bits.f64(at);
  bits.bit(closes);
  const decision = writeObserved(bits, entry.decision);
  bits.count(entry.reports.length);
  const rest = entry.reports.map((report) => writeReport(bits, report, at, entry.decision));
  const isUsual = rest.every((report) => Object.values(report).every((value) => value === undefined));
  const packed = {
    ...entry,
    key: key === usualKey(entry.reports) ? undefined : key,
    decision,
    reports: isUsual ? undefined : rest,
  };
  return [packed, [bits.written]];
}

/** With every member, so that the compiler notices one that is neither written nor read. */
type Complete<T> = { readonly [Member in keyof Required<T>]: T[Member] };

/** Writes the numbers of a report; returns the rest. */
function writeReport(
  bits: BitWriter,
  { rewardId, tool, outcome, value, weight, at, occurredAt, latencyMs, cost, rating }: OutcomeReport,
  entryAt: number,
  { id, tools }: ObservedDecision,
): Complete<PackedReport> {
  bits.put(OUTCOMES.indexOf(outcome), OUTCOME_BITS);
  bits.double(value);
  bits.double(weight);
  bits.bit(latencyMs !== undefined);
  if (latencyMs !== undefined) bits.double(latencyMs);
  bits.bit(cost !== undefined);
  if (cost !== undefined) bits.double(cost);
  const place = tool === null ? -1 : tools.indexOf(tool);
  bits.count(place + 1);
  const isUsual = rewardId.startsWith(id) && REWARD.test(rewardId.slice(id.length));
  bits.bit(isUsual);
  if (isUsual) bits.hex(rewardId, id.length + 1);
  return {
    occurredAt,
    rating,
    at: at === entryAt ? undefined : at,
    id: isUsual ? undefined : rewardId,
    tool: place < 0 ? tool : undefined,
  };
}

export function unpackObservation(
  { decision: packed, reports: rest, key, ...entry }: PackedObservation,
  arrays: readonly NumberArray[],
): ObservationEntry {
  const bits = bitsOf(arrays);
  const at = bits.f64();
  const closes = bits.bit();
  const decision = readObserved(bits, packed);
  const reports: OutcomeReport[] = [];
  for (let left = bits.length(); left > 0; left--) {
    reports.push(readReport(bits, rest?.[reports.length] ?? USUAL_REPORT, at, decision));
  }
  return { ...entry, at, closes, key: key ?? usualKey(reports), decision, reports };
}

const USUAL_REPORT: PackedReport = {};

/** Names every member, since every replica reads every report: to copy all members but some takes the engine longer. */
function readReport(
  bits: BitReader,
  { id, tool, at, occurredAt, rating }: PackedReport,
  entryAt: number,
  decision: ObservedDecision,
): OutcomeReport {
  const outcome = OUTCOMES[bits.take(OUTCOME_BITS)];
  const value = bits.double();
  const weight = bits.double();
  const latencyMs = bits.bit() ? bits.double() : undefined;
  const cost = bits.bit() ? bits.double() : undefined;
  const place = bits.count() - 1;
  const rewardId = bits.bit() ? `${decision.id}.${bits.hex(REWARD_DIGITS)}` : id!;
  const report: { -readonly [Member in keyof OutcomeReport]: OutcomeReport[Member] } = {
    rewardId,
    tool: place < 0 ? tool! : decision.tools[place],
    outcome,
    value,
    weight,
    at: at ?? entryAt,
  };
  if (latencyMs !== undefined) report.latencyMs = latencyMs;
  if (cost !== undefined) report.cost = cost;
  if (occurredAt !== undefined) report.occurredAt = occurredAt;
  if (rating !== undefined) report.rating = rating;
  return report;
}

function usualKey([first]: readonly OutcomeReport[]): string {
  return `observation/${first?.rewardId}`;
}

/** The same for what a decision says without reports. */
export function packSettlement(
  entry: SettlementEntry | DiscoveryEntry,
): readonly [PackedSettlement, readonly NumberArray[]] {
  const bits = WRITER.emptied();
  return [{ ...entry, decision: writeObserved(bits, entry.decision) }, [bits.written]];
}

export function unpackSettlement(
  packed: PackedSettlement,
  arrays: readonly NumberArray[],
): SettlementEntry | DiscoveryEntry {
  return { ...packed, decision: readObserved(bitsOf(arrays), packed.decision) };
}

function bitsOf([words]: readonly NumberArray[]): BitReader {
  return new BitReader(words as Uint32Array);
}

/** The part of an observed decision that is JSON: what every one has, then the rest, if there is any. */
type PackedObserved = readonly [
  /** Its catalog, if the id is a usual one: then catalog, time and a random number. */
  id: string,
  /** 0: it is a digest. */
  fingerprint: string | null | 0,
  tools: readonly string[],
  /** Policy versions in the order of their features. */
  versions: readonly string[],
  rest?: Pick<
    ObservedDecision,
    'merged' | 'task' | 'assignments' | 'instructions' | 'discovered' | 'context'
  > & {
    readonly sufficiency?: Omit<ObservedSufficiency, 'features' | 'predicted'>;
  },
];

const DIGEST = /^[0-9a-f]{32}$/;
const DIGEST_DIGITS = 32;

/** Writes the numbers of an observed decision; returns the rest. */
function writeObserved(bits: BitWriter, decision: ObservedDecision): PackedObserved {
  const {
    id,
    fingerprint,
    tools,
    at,
    deadline,
    shown,
    unit,
    learn,
    embedding,
    terms,
    columns,
    features,
    sufficiency,
    ...rest
  } = decision;
  bits.f64(at);
  bits.f64(deadline);
  const catalog = writeId(bits, id, at);
  const isDigest = fingerprint !== null && DIGEST.test(fingerprint);
  if (isDigest) bits.hex(fingerprint, 0);
  bits.count(shown);
  bits.count(unit);
  bits.bit(learn);
  bits.bit(embedding !== null);
  if (embedding !== null) bits.vector(embedding);
  bits.terms(terms);
  writeTables(bits, columns, Object.values(features));
  bits.bit(sufficiency !== undefined);
  const all: PackedObserved[4] & object = { ...rest };
  if (sufficiency !== undefined) {
    const { features: numbers, predicted, ...judged } = sufficiency;
    bits.doubles(numbers);
    bits.bit(predicted !== undefined);
    if (predicted !== undefined) bits.double(predicted);
    if (Object.keys(judged).length > 0) Object.assign(all, { sufficiency: judged });
  }
  const packed = [catalog, isDigest ? 0 : fingerprint, tools, Object.keys(features)] as const;
  return Object.keys(all).length === 0 ? packed : [...packed, all];
}

function readObserved(
  bits: BitReader,
  [catalog, fingerprint, tools, versions, { sufficiency, ...rest } = {}]: PackedObserved,
): ObservedDecision {
  const [at, deadline] = [bits.f64(), bits.f64()];
  const observed = {
    at,
    deadline,
    // In the order in which they were written.
    id: readId(bits, catalog, at),
    fingerprint: fingerprint === 0 ? bits.hex(DIGEST_DIGITS) : fingerprint,
    tools,
    shown: bits.count(),
    unit: bits.count(),
    learn: bits.bit(),
    embedding: bits.bit() ? bits.vector() : null,
    terms: bits.terms(),
    ...readTables(bits, versions),
    ...rest,
  };
  if (!bits.bit()) return observed;
  const features = bits.doubles();
  const predicted = bits.bit() ? { predicted: bits.double() } : {};
  return { ...observed, sufficiency: { ...sufficiency, ...predicted, features } };
}
