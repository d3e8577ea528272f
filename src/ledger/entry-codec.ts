import { OtherVersionError } from '../errors/store-errors.ts';
import { atOnce, eachInSteps, inSlices, type Steps } from '../scheduling/slices.ts';
import { BitReader, BitWriter } from '../storage/bits.ts';
import { type NumberArray, packDocument, unpackDocument } from '../storage/packed-document.ts';
import type {
  CasesEntry,
  DiscoveryEntry,
  EmbedderEntry,
  Entry,
  InstructionPut,
  InstructionsEntry,
  MergesEntry,
  ObservationEntry,
  ObservedDecision,
  ObservedSufficiency,
  OutcomeReport,
  SettingsEntry,
  SettlementEntry,
  TaughtCase,
  ToolPut,
  ToolsEntry,
} from './entry.ts';
import type { InstructionDraft } from './instruction-definition.ts';
import type { ToolDefinition } from './tool-definition.ts';

/** Tag of a packed entry; decisions, snapshots and activations have 2, 3 and 4. */
const ENTRY_TAG = 1;
/** Of the JSON of an entry, which is `[version, entry]`. */
const VERSION = 13;

/** For all entries with a decision, since one is encoded without a pause. */
const WRITER = new BitWriter();

/**
 * An entry as bytes. What comes back is equal bit for bit, −0 and NaN included, wherever learning reads a number.
 * What users wrote (definitions, settings) comes back as JSON has it: there −0 is 0, and undefined is absent.
 */
export function encodeEntry(entry: Entry): Buffer {
  return atOnce(encodeInSteps(entry));
}

/** The same for many, in slices: ten thousand tools that are put take a good part of a second. */
export function encodeEntries(entries: readonly Entry[]): Promise<Buffer[]> {
  return inSlices(eachInSteps(entries, encodeInSteps));
}

/** @throws as `decodeEntry` */
export function decodeEntries(records: readonly Uint8Array[]): Promise<Entry[]> {
  return inSlices(eachInSteps(records, decodeInSteps));
}

/** Pauses after every tool that is put. */
function* encodeInSteps(entry: Entry): Steps<Buffer> {
  switch (entry.kind) {
    case 'tools':
      return yield* encodeTools(entry);
    case 'instructions':
      return yield* encodeInstructions(entry);
    case 'embedder':
      return encodeEmbedder(entry);
    case 'observation':
      return encodeObservation(entry);
    case 'settlement':
    case 'discovery':
      return encodeSettlement(entry);
    case 'cases':
      return encodeCases(entry);
    case 'settings':
      return encodeSettings(entry);
    case 'merges':
      return encodeMerges(entry);
    case 'forget':
    case 'experiment':
    case 'exposures':
    case 'unlearned':
    case 'version':
    case 'source':
    case 'merge-run':
      return pack(entry, []);
  }
}

function pack(entry: PackedEntry, arrays: readonly NumberArray[]): Buffer {
  return packDocument(ENTRY_TAG, [VERSION, entry], arrays);
}

/** @throws Error when the bytes are no entry; OtherVersionError */
export function decodeEntry(bytes: Uint8Array): Entry {
  return atOnce(decodeInSteps(bytes));
}

function* decodeInSteps(bytes: Uint8Array): Steps<Entry> {
  const { json, arrays } = unpackDocument(ENTRY_TAG, bytes);
  const [version, packed] = Array.isArray(json) ? (json as [unknown, PackedEntry]) : [1, json as PackedEntry];
  if (version !== VERSION) {
    throw new OtherVersionError(`entries of version ${version}`, VERSION);
  }
  switch (packed.kind) {
    case 'tools':
      return yield* decodeTools(packed, arrays);
    case 'instructions':
      return yield* decodeInstructions(packed, arrays);
    case 'embedder':
      return decodeEmbedder(packed, arrays);
    case 'observation':
      return decodeObservation(packed, arrays);
    case 'settlement':
    case 'discovery':
      return { ...packed, decision: readObserved(bitsOf(arrays), packed.decision) };
    case 'cases':
      return decodeCases(packed, arrays);
    case 'settings':
      return decodeSettings(packed, arrays);
    case 'merges':
      return decodeMerges(packed, arrays);
    case 'forget':
    case 'experiment':
    case 'exposures':
    case 'unlearned':
    case 'version':
    case 'source':
    case 'merge-run':
      return packed;
    default: {
      const { kind } = packed as { kind: unknown };
      throw new Error(
        `The ledger holds an entry of kind "${kind}", which only a newer version of Bandolier knows.`,
      );
    }
  }
}

type PackedEntry =
  | PackedTools
  | PackedInstructions
  | PackedEmbedder
  | PackedObservation
  | PackedSettlement
  | PackedCases
  | PackedSettings
  | PackedMerges
  | Extract<
      Entry,
      { kind: 'forget' | 'experiment' | 'exposures' | 'unlearned' | 'version' | 'source' | 'merge-run' }
    >;

/**
 * The definitions are texts of their own, since to write or parse ten thousand of them at once would take too long:
 * the first array holds them all in UTF-8, the second one their lengths. `embedding`: index of its array, −1 for none.
 */
type PackedPut<Put> = Omit<Put, 'tool' | 'instruction' | 'embedding'> & { readonly embedding: number };

type PackedTools = Omit<ToolsEntry, 'put'> & { readonly put: readonly PackedPut<ToolPut>[] };

type PackedInstructions = Omit<InstructionsEntry, 'put'> & {
  readonly put: readonly PackedPut<InstructionPut>[];
};

type PackedEmbedder = Omit<EmbedderEntry, 'vectors' | 'instructions' | 'merges' | 'domains'> & {
  readonly vectors: readonly Omit<EmbedderEntry['vectors'][number], 'embedding'>[];
  readonly merges?: readonly { readonly id: string; readonly hash: string }[];
  readonly instructions?: readonly { readonly id: string; readonly hash: string }[];
  readonly domains?: { readonly of: string };
};

type PackedSettings = Omit<SettingsEntry, 'domains'> & {
  readonly domains?: Omit<NonNullable<SettingsEntry['domains']>, 'weights'>;
};

/** The vector of an approval is the only array; there is none without an embedder. */
type PackedMerges = Omit<MergesEntry, 'change'> & {
  readonly change:
    | Exclude<MergesEntry['change'], { action: 'approve' }>
    | Omit<Extract<MergesEntry['change'], { action: 'approve' }>, 'embedding'>;
};

type PackedCases = Omit<CasesEntry, 'cases'> & {
  readonly cases: readonly (Omit<TaughtCase, 'embedding' | 'terms'> & { readonly embedded: boolean })[];
};

type PackedSettlement = Packed<SettlementEntry> | Packed<DiscoveryEntry>;

type Packed<Known extends { decision: ObservedDecision }> = Omit<Known, 'decision'> & {
  readonly decision: PackedObserved;
};

type PackedObservation = Omit<ObservationEntry, 'key' | 'decision' | 'reports'> & {
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

function* encodeTools(entry: ToolsEntry): Steps<Buffer> {
  const definitions = entry.put.map(({ tool, ...rest }) => ({ ...rest, definition: tool }));
  const { put, arrays } = yield* packPut(definitions);
  return pack({ ...entry, put }, arrays);
}

function* decodeTools(packed: PackedTools, arrays: readonly NumberArray[]): Steps<ToolsEntry> {
  const put = yield* unpackPut(packed.put, arrays);
  return {
    ...packed,
    put: put.map(({ definition, ...rest }) => ({ tool: definition as ToolDefinition, ...rest })),
  };
}

function* encodeInstructions(entry: InstructionsEntry): Steps<Buffer> {
  const definitions = entry.put.map(({ instruction, ...rest }) => ({ ...rest, definition: instruction }));
  const { put, arrays } = yield* packPut(definitions);
  return pack({ ...entry, put }, arrays);
}

function* decodeInstructions(
  packed: PackedInstructions,
  arrays: readonly NumberArray[],
): Steps<InstructionsEntry> {
  const put = yield* unpackPut(packed.put, arrays);
  return {
    ...packed,
    put: put.map(({ definition, ...rest }) => ({ instruction: definition as InstructionDraft, ...rest })),
  };
}

interface Embedded {
  readonly embedding: Float32Array | null;
}

function* packPut<Rest extends Embedded & { readonly definition: unknown }>(
  all: readonly Rest[],
): Steps<{
  put: (Omit<Rest, 'definition' | 'embedding'> & { embedding: number })[];
  arrays: NumberArray[];
}> {
  const texts: Buffer[] = [];
  const vectors: NumberArray[] = [];
  const put: (Omit<Rest, 'definition' | 'embedding'> & { embedding: number })[] = [];
  for (const { definition, embedding, ...rest } of all) {
    texts.push(Buffer.from(JSON.stringify(definition)));
    put.push({ ...rest, embedding: embedding === null ? -1 : 1 + vectors.push(embedding) });
    yield;
  }
  const lengths = Uint32Array.from(texts, ({ length }) => length);
  const text = new Uint8Array(Buffer.concat(texts));
  return { put, arrays: [text, lengths, ...vectors] };
}

function* unpackPut<Rest extends { readonly embedding: number }>(
  packed: readonly Rest[],
  arrays: readonly NumberArray[],
): Steps<(Omit<Rest, 'embedding'> & Embedded & { definition: unknown })[]> {
  const [text, lengths] = arrays;
  const bytes = Buffer.from(text.buffer, text.byteOffset, text.byteLength);
  const put: (Omit<Rest, 'embedding'> & Embedded & { definition: unknown })[] = [];
  let start = 0;
  for (const [i, { embedding, ...rest }] of packed.entries()) {
    const end = start + lengths[i];
    const definition: unknown = JSON.parse(bytes.toString('utf8', start, end));
    put.push({ definition, ...rest, embedding: embedding < 0 ? null : (arrays[embedding] as Float32Array) });
    start = end;
    yield;
  }
  return put;
}

/** The vectors of the tools, those of the merges, those of the instructions, then the weights of the domains. */
function encodeEmbedder({ merges, instructions, domains, ...entry }: EmbedderEntry): Buffer {
  const all = [...entry.vectors, ...(merges ?? []), ...(instructions ?? [])];
  const arrays = all.map(({ embedding }) => embedding);
  const vectors = entry.vectors.map(({ embedding: _, ...rest }) => rest);
  const named = (some: EmbedderEntry['merges']) => some?.map(({ id, hash }) => ({ id, hash }));
  const packed = {
    ...{ ...entry, vectors },
    ...(merges !== undefined && { merges: named(merges) }),
    ...(instructions !== undefined && { instructions: named(instructions) }),
    ...(domains !== undefined && { domains: { of: domains.of } }),
  };
  return pack(packed, domains === undefined ? arrays : [...arrays, domains.weights]);
}

function decodeEmbedder(
  { merges, instructions, domains, ...packed }: PackedEmbedder,
  arrays: readonly NumberArray[],
): EmbedderEntry {
  const embeddings = arrays as readonly Float32Array[];
  let at = 0;
  const embedded = <Named>(one: Named) => ({ ...one, embedding: embeddings[at++] });
  const vectors = packed.vectors.map(embedded);
  return {
    ...{ ...packed, vectors },
    ...(merges !== undefined && { merges: merges.map(embedded) }),
    ...(instructions !== undefined && { instructions: instructions.map(embedded) }),
    ...(domains !== undefined && { domains: { ...domains, weights: embeddings[embeddings.length - 1] } }),
  };
}

function encodeSettings({ domains, ...entry }: SettingsEntry): Buffer {
  if (domains === undefined) return pack(entry, []);
  const { weights, ...rest } = domains;
  return pack({ ...entry, domains: rest }, [weights]);
}

function decodeSettings(
  { domains, ...packed }: PackedSettings,
  [weights]: readonly NumberArray[],
): SettingsEntry {
  if (domains === undefined) return packed;
  return { ...packed, domains: { ...domains, weights: weights as Float32Array } };
}

function encodeMerges({ change, ...entry }: MergesEntry): Buffer {
  if (change.action !== 'approve') return pack({ ...entry, change }, []);
  const { embedding, ...rest } = change;
  return pack({ ...entry, change: rest }, embedding === null ? [] : [embedding]);
}

function decodeMerges({ change, ...packed }: PackedMerges, [vector]: readonly NumberArray[]): MergesEntry {
  if (change.action !== 'approve') return { ...packed, change };
  return { ...packed, change: { ...change, embedding: (vector as Float32Array | undefined) ?? null } };
}

function encodeCases(entry: CasesEntry): Buffer {
  const arrays = entry.cases.flatMap(({ embedding, terms }): NumberArray[] => {
    return [terms.terms, terms.weights, ...(embedding === null ? [] : [embedding])];
  });
  const cases = entry.cases.map(({ embedding, terms: _, ...plain }) => ({
    ...plain,
    embedded: embedding !== null,
  }));
  return pack({ ...entry, cases }, arrays);
}

function decodeCases(packed: PackedCases, arrays: readonly NumberArray[]): CasesEntry {
  let at = 0;
  const cases = packed.cases.map(({ embedded, ...plain }): TaughtCase => {
    const terms = { terms: arrays[at++] as Uint32Array, weights: arrays[at++] as Float32Array };
    return { ...plain, terms, embedding: embedded ? (arrays[at++] as Float32Array) : null };
  });
  return { ...packed, cases };
}

function encodeObservation(entry: ObservationEntry): Buffer {
  const bits = WRITER.emptied();
  const decision = writeObserved(bits, entry.decision);
  const reports = entry.reports.map((report) => writeReport(bits, report, entry));
  const key = entry.key === usualKey(entry.reports) ? undefined : entry.key;
  return pack({ ...entry, key, decision, reports }, [bits.written]);
}

/** Writes the numbers of a report; returns the rest. */
function writeReport(
  bits: BitWriter,
  { rewardId, tool, outcome, value, weight, at, occurredAt, latencyMs, cost, rating }: OutcomeReport,
  { at: entryAt, decision: { id, tools } }: ObservationEntry,
): PackedReport {
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

function decodeObservation(packed: PackedObservation, arrays: readonly NumberArray[]): ObservationEntry {
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

function encodeSettlement(entry: SettlementEntry | DiscoveryEntry): Buffer {
  const bits = WRITER.emptied();
  return pack({ ...entry, decision: writeObserved(bits, entry.decision) }, [bits.written]);
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
