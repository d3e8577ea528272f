import type { Kernels } from '../kernels/kernels.ts';
import { savedArray } from '../learner-codec.ts';
import type { LearnerState } from '../policy.ts';
import { CaseEntries } from './case-entries.ts';
import { CaseIndex } from './case-index.ts';
import { CaseLinks } from './case-links.ts';
import { CasePlaces, MergedCases, PLACES_LIMIT } from './case-places.ts';
import { CaseUnits } from './case-units.ts';

export const TOOLS_PER_CASE = 64;

export interface MemoryLimits {
  /** D of the embeddings; 0 without an embedder. */
  readonly dimensions: number;
  /** Most cases that are kept, 1 … 2²⁰. */
  readonly cases: number;
}

/** The parts of outcome memory, all of which are saved. */
export interface MemoryParts {
  readonly places: CasePlaces;
  readonly index: CaseIndex;
  readonly entries: CaseEntries;
  readonly units: CaseUnits;
  readonly links: CaseLinks;
  readonly merged: MergedCases;
}

/** @throws RangeError when the limits cannot be kept. */
export function createParts(kernels: Kernels, limits: MemoryLimits): MemoryParts {
  const { dimensions, cases } = limits;
  if (!(cases >= 1 && cases <= PLACES_LIMIT)) {
    throw new RangeError(`An outcome memory has 1 to ${PLACES_LIMIT} cases, not ${cases}.`);
  }
  return {
    places: new CasePlaces(),
    index: new CaseIndex(kernels, dimensions),
    entries: new CaseEntries(TOOLS_PER_CASE),
    units: new CaseUnits(),
    links: new CaseLinks(),
    merged: new MergedCases(),
  };
}

/** Returns the arrays of a saved learner that are its memory. Pauses at every `yield`. */
export function* saveParts({
  places,
  index,
  entries,
  units,
  links,
  merged,
}: MemoryParts): Generator<void, LearnerState['arrays']> {
  const { lastSeen, generations } = places.save();
  const queries = index.save(places.count);
  yield;
  const counts = entries.save(places.count);
  yield;
  const known = units.save(places.count);
  yield;
  const { decisions, nearest, similarities } = links.save();
  return {
    'memory.lastSeen': lastSeen,
    'memory.generations': generations,
    'memory.embeddings': queries.embeddings,
    'memory.termOffsets': queries.offsets,
    'memory.terms': queries.terms,
    'memory.termWeights': queries.weights,
    'memory.entryOffsets': counts.offsets,
    'memory.entrySlots': counts.slots,
    'memory.positives': counts.positives,
    'memory.negatives': counts.negatives,
    'memory.entryUnits': counts.units,
    'memory.unitPositives': counts.unitPositives,
    'memory.unitNegatives': counts.unitNegatives,
    'memory.unitOffsets': known.offsets,
    'memory.units': known.units,
    'memory.decisions': decisions,
    'memory.links': nearest,
    'memory.linkSimilarities': similarities,
    'memory.merged': merged.save(),
  };
}

/** @throws Error when the arrays do not fit each other or the limits. */
export function loadParts(
  kernels: Kernels,
  { dimensions }: MemoryLimits,
  arrays: LearnerState['arrays'],
): MemoryParts {
  const lastSeen = savedArray(arrays, 'memory.lastSeen', Float64Array);
  const count = lastSeen.length;
  const places = { lastSeen, generations: savedArray(arrays, 'memory.generations', Float64Array, count) };
  const queries = {
    embeddings: savedArray(arrays, 'memory.embeddings', Float32Array, count * dimensions),
    offsets: savedArray(arrays, 'memory.termOffsets', Int32Array, count + 1),
    terms: savedArray(arrays, 'memory.terms', Uint32Array),
    weights: savedArray(arrays, 'memory.termWeights', Float32Array),
  };
  const entries = {
    offsets: savedArray(arrays, 'memory.entryOffsets', Int32Array, count + 1),
    slots: savedArray(arrays, 'memory.entrySlots', Int32Array),
    positives: savedArray(arrays, 'memory.positives', Float32Array),
    negatives: savedArray(arrays, 'memory.negatives', Float32Array),
    units: savedArray(arrays, 'memory.entryUnits', Uint32Array),
    unitPositives: savedArray(arrays, 'memory.unitPositives', Float32Array),
    unitNegatives: savedArray(arrays, 'memory.unitNegatives', Float32Array),
  };
  const units = {
    offsets: savedArray(arrays, 'memory.unitOffsets', Int32Array, count + 1),
    units: savedArray(arrays, 'memory.units', Uint32Array),
  };
  const links = {
    decisions: savedArray(arrays, 'memory.decisions', Float64Array, count),
    nearest: savedArray(arrays, 'memory.links', Int32Array, count),
    similarities: savedArray(arrays, 'memory.linkSimilarities', Float64Array, count),
  };
  const merged = savedArray(arrays, 'memory.merged', Float64Array);
  return {
    index: CaseIndex.load(kernels, dimensions, queries),
    places: CasePlaces.load(places),
    entries: CaseEntries.load(TOOLS_PER_CASE, entries),
    units: CaseUnits.load(units),
    links: CaseLinks.load(links),
    merged: MergedCases.load(merged),
  };
}
