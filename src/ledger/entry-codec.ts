import { OtherVersionError } from '../errors/store-errors.ts';
import { atOnce, eachInSteps, inSlices, type Steps } from '../scheduling/slices.ts';
import { asDamage, type NumberArray, packDocument, unpackDocument } from '../storage/packed-document.ts';
import {
  type PackedInstructions,
  type PackedTools,
  packInstructions,
  packTools,
  unpackInstructions,
  unpackTools,
} from './definitions-codec.ts';
import type { CasesEntry, EmbedderEntry, Entry, MergesEntry, SettingsEntry, TaughtCase } from './entry.ts';
import {
  type PackedObservation,
  type PackedSettlement,
  packObservation,
  packSettlement,
  unpackObservation,
  unpackSettlement,
} from './observed-entry-codec.ts';

/** Tag of a packed entry; decisions, snapshots and activations have 2, 3 and 4. */
const ENTRY_TAG = 1;
/** Of the JSON of an entry, which is `[version, entry]`. */
const VERSION = 14;

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
      return pack(...(yield* packTools(entry)));
    case 'instructions':
      return pack(...(yield* packInstructions(entry)));
    case 'embedder':
      return encodeEmbedder(entry);
    case 'observation':
      return pack(...packObservation(entry));
    case 'settlement':
    case 'discovery':
      return pack(...packSettlement(entry));
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
  try {
    return yield* readInSteps(bytes);
  } catch (error) {
    throw asDamage(error);
  }
}

function* readInSteps(bytes: Uint8Array): Steps<Entry> {
  const { json, arrays } = unpackDocument(ENTRY_TAG, bytes);
  const [version, packed] = Array.isArray(json) ? (json as [unknown, PackedEntry]) : [1, json as PackedEntry];
  if (version !== VERSION) {
    throw new OtherVersionError(`entries of version ${version}`, VERSION);
  }
  switch (packed.kind) {
    case 'tools':
      return yield* unpackTools(packed, arrays);
    case 'instructions':
      return yield* unpackInstructions(packed, arrays);
    case 'embedder':
      return decodeEmbedder(packed, arrays);
    case 'observation':
      return unpackObservation(packed, arrays);
    case 'settlement':
    case 'discovery':
      return unpackSettlement(packed, arrays);
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
