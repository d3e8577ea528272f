import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { CaseIndex } from '../../bandit/memory/case-index.ts';
import type { CaseOutcome, LearnerState, QueryFeatures } from '../../bandit/policy.ts';

/** Slates of so many tools; the first of each did well. */
export function slateOf(tools: number, size: number): (at: number) => CaseOutcome[] {
  return (at) =>
    Array.from({ length: Math.min(size, tools) }, (_, i) => ({
      slot: (7 * at + i) % tools,
      reward: i === 0 ? 1 : 0,
    }));
}

/** The arrays of a memory that has one case for each of these queries, and is full. */
export function savedMemory(
  kernels: Kernels,
  queries: readonly QueryFeatures[],
  dimensions: number,
  outcomesOf: (at: number) => readonly CaseOutcome[],
): LearnerState['arrays'] {
  const cases = queries.length;
  const index = new CaseIndex(kernels, dimensions);
  for (const [place, query] of queries.entries()) index.put(place, query);
  const { embeddings, offsets, terms, weights } = index.save(cases);
  index.dispose();
  const entries = queries.flatMap((_, at) => outcomesOf(at));
  const perCase = entries.length / cases;
  const steps = (size: number): Int32Array => Int32Array.from({ length: cases + 1 }, (_, at) => at * size);
  return {
    'memory.lastSeen': new Float64Array(cases),
    'memory.generations': new Float64Array(cases),
    'memory.embeddings': embeddings,
    'memory.termOffsets': offsets,
    'memory.terms': terms,
    'memory.termWeights': weights,
    'memory.entryOffsets': steps(perCase),
    'memory.entrySlots': Int32Array.from(entries, ({ slot }) => slot),
    'memory.positives': Float32Array.from(entries, ({ reward }) => reward),
    'memory.negatives': Float32Array.from(entries, ({ reward }) => 1 - reward),
    'memory.entryUnits': new Uint32Array(entries.length),
    'memory.unitPositives': new Float32Array(entries.length),
    'memory.unitNegatives': new Float32Array(entries.length),
    'memory.unitOffsets': steps(1),
    'memory.units': Uint32Array.from({ length: cases }, (_, at) => at + 1),
    // Near enough to its neighbour that what is new makes it merge.
    'memory.decisions': new Float64Array(cases).fill(1),
    'memory.links': Int32Array.from({ length: cases }, (_, at) => (at + 1) % cases),
    'memory.linkSimilarities': new Float64Array(cases).fill(0.89),
    'memory.merged': new Float64Array(0),
  };
}
