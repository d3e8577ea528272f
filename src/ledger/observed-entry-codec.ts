import { BitReader, BitWriter } from '../storage/bits.ts';
import type { NumberArray } from '../storage/packed-document.ts';
import type {
  DiscoveryEntry,
  ObservationEntry,
  ObservedDecision,
  ObservedSufficiency,
  OutcomeReport,
  SettlementEntry,
} from './entry.ts';

/** For all entries with a decision, since one is encoded without a pause. */
const WRITER = new BitWriter();

export type PackedSettlement = Packed<SettlementEntry> | Packed<DiscoveryEntry>;

type Packed<Known extends { decision: ObservedDecision }> = Omit<Known, 'decision'> & {
  readonly decision: PackedObserved;
};

export type PackedObservation = Omit<ObservationEntry, 'key' | 'decision' | 'reports'> & {
  /** Absent: the usual one, of its first report. */
  readonly key?: string;
  readonly decision: PackedObserved;
  readonly reports: readonly PackedReport[];
};

/** `has` says which of the optional numbers are there: 1 latency, 2 cost. */
type PackedReport = Omit<OutcomeReport, ReportNumber | 'rewardId' | 'tool' | 'at'> & {
  readonly has: number;
  /** What follows the id of the decision; alone in a list: all of one that does not begin with it. */
  readonly id: string | readonly [string];
  /** Its place among the tools of the decision; its name, if it is none of them. */
  readonly tool: number | string | null;
  /** Absent: the same as that of the entry. */
  readonly at?: number;
};

type ReportNumber = 'value' | 'weight' | 'latencyMs' | 'cost';

/** Returns what goes into a document. Its array is valid until the next entry is packed. */
export function packObservation(
  entry: ObservationEntry,
): readonly [PackedObservation, readonly NumberArray[]] {
  const bits = WRITER.emptied();
  const decision = writeObserved(bits, entry.decision);
  const reports = entry.reports.map((report) => writeReport(bits, report, entry));
  const key = entry.key === usualKey(entry.reports) ? undefined : entry.key;
  return [{ ...entry, key, decision, reports }, [bits.written]];
}

/** With every member, so that the compiler notices one that is neither written nor read. */
type Complete<T> = { readonly [Member in keyof Required<T>]: T[Member] };

/** Writes the numbers of a report; returns the rest. */
function writeReport(
  bits: BitWriter,
  { rewardId, tool, outcome, value, weight, at, occurredAt, latencyMs, cost, rating }: OutcomeReport,
  { at: entryAt, decision: { id, tools } }: ObservationEntry,
): Complete<PackedReport> {
  bits.f64(value);
  bits.f64(weight);
  if (latencyMs !== undefined) bits.f64(latencyMs);
  if (cost !== undefined) bits.f64(cost);
  const place = tool === null ? -1 : tools.indexOf(tool);
  return {
    outcome,
    occurredAt,
    rating,
    at: at === entryAt ? undefined : at,
    id: rewardId.startsWith(id) ? rewardId.slice(id.length) : [rewardId],
    tool: place < 0 ? tool : place,
    has: (latencyMs === undefined ? 0 : 1) | (cost === undefined ? 0 : 2),
  };
}

export function unpackObservation(
  packed: PackedObservation,
  arrays: readonly NumberArray[],
): ObservationEntry {
  const bits = bitsOf(arrays);
  const decision = readObserved(bits, packed.decision);
  const reports = packed.reports.map((report) => readReport(bits, report, packed.at, decision));
  return { ...packed, key: packed.key ?? usualKey(reports), decision, reports };
}

/** Names every member, since every replica reads every report: to copy all members but some takes the engine longer. */
function readReport(
  bits: BitReader,
  { has, id, tool, outcome, at, occurredAt, rating }: PackedReport,
  entryAt: number,
  decision: ObservedDecision,
): OutcomeReport {
  const report: { -readonly [Member in keyof OutcomeReport]: OutcomeReport[Member] } = {
    rewardId: typeof id === 'string' ? decision.id + id : id[0],
    tool: typeof tool === 'number' ? decision.tools[tool] : tool,
    outcome,
    value: bits.f64(),
    weight: bits.f64(),
    at: at ?? entryAt,
  };
  if (has & 1) report.latencyMs = bits.f64();
  if (has & 2) report.cost = bits.f64();
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

/** The part of an observed decision that is JSON: what every one has, then the rest. */
type PackedObserved = readonly [
  id: string,
  fingerprint: string | null,
  tools: readonly string[],
  /** Policy versions in the order of their features. */
  versions: readonly string[],
  rest: Pick<
    ObservedDecision,
    'merged' | 'task' | 'assignments' | 'instructions' | 'discovered' | 'context'
  > & {
    readonly sufficiency?: Omit<ObservedSufficiency, 'features'>;
  },
];

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
  bits.count(shown);
  bits.count(unit);
  bits.bit(learn);
  bits.bit(embedding !== null);
  if (embedding !== null) bits.vector(embedding);
  bits.terms(terms);
  for (const name of OBSERVED_COLUMNS) bits.floats(columns[name]);
  for (const rows of Object.values(features)) bits.floats(rows);
  const versions = Object.keys(features);
  if (sufficiency === undefined) return [id, fingerprint, tools, versions, rest];
  const { features: numbers, ...judged } = sufficiency;
  bits.doubles(numbers);
  return [id, fingerprint, tools, versions, { ...rest, sufficiency: judged }];
}

function readObserved(
  bits: BitReader,
  [id, fingerprint, tools, versions, { sufficiency, ...rest }]: PackedObserved,
): ObservedDecision {
  return {
    id,
    fingerprint,
    tools,
    // In the order in which they were written.
    at: bits.f64(),
    deadline: bits.f64(),
    shown: bits.count(),
    unit: bits.count(),
    learn: bits.bit(),
    embedding: bits.bit() ? bits.vector() : null,
    terms: bits.terms(),
    columns: {
      similarity: bits.floats(),
      lexical: bits.floats(),
      dense: bits.floats(),
      retrieval: bits.floats(),
    },
    features: Object.fromEntries(versions.map((version) => [version, bits.floats()])),
    ...rest,
    ...(sufficiency !== undefined && { sufficiency: { ...sufficiency, features: bits.doubles() } }),
  };
}

const OBSERVED_COLUMNS = ['similarity', 'lexical', 'dense', 'retrieval'] as const;
