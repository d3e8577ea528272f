import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { ToolVectors } from '../../bandit/tool-vectors.ts';
import type { Steps } from '../scheduling/slices.ts';
import { type ConfusablePair, pairKey } from '../state/confusable-pairs.ts';
import type { MergeableTool } from './audit-component.ts';
import { componentsOf } from './components.ts';
import type { JudgedTool, PairVerdict } from './judge.ts';
import { ToolNeighbours } from './tool-neighbours.ts';

/** Which tools are compared. */
export interface PairScope {
  readonly tools: readonly MergeableTool[];
  readonly kernels: Kernels;
  /** What is served, by slot; null: there is no embedder, and words decide alone which tools are compared. */
  readonly vectors: ToolVectors | null;
  /** The vectors of the definitions of tools, by slot, where `vectors` has that of what is served in their place. */
  readonly own?: ReadonlyMap<number, Float32Array>;
  /** Least cosine of tools that are compared. */
  readonly threshold: number;
  /** Compared whatever texts say. */
  readonly confusable?: readonly ConfusablePair[];
  readonly signal?: AbortSignal | undefined;
}

export interface CandidatePair {
  /** The lower slot first. */
  readonly slots: readonly [number, number];
  readonly similarity: number | null;
  readonly confused: number;
}

export interface SamePair extends CandidatePair {
  readonly verdict: PairVerdict;
}

/** Pairs whose similarity counts in that of more than two tools. */
const MOST_COSINES = 2_000;

/**
 * Keeps the tools of one catalog from pass to pass, with their words, and what a judge said of pairs of them: those that are the same, and
 * those that it left open.
 */
export class JudgedPairs {
  readonly #neighbours: ToolNeighbours;
  readonly #tools = new Map<number, MergeableTool>();
  /** The tools as judges see them: one object per tool, so that a judge can keep what it made of it. */
  readonly #judged = new Map<number, JudgedTool>();
  readonly #same = new Map<number, SamePair>();
  /** Pairs that the judge did not decide: the next pass asks again. */
  readonly #undecided = new Map<number, CandidatePair>();
  #confused = new Map<number, number>();

  constructor({ kernels, vectors, threshold }: Pick<PairScope, 'kernels' | 'vectors' | 'threshold'>) {
    this.#neighbours = new ToolNeighbours(kernels, vectors, threshold);
  }

  /** Takes in the tools as they are now; returns the slots of those that are new or changed. */
  *update({ tools, own }: Pick<PairScope, 'tools' | 'own'>): Steps<Set<number>> {
    this.#neighbours.begin(own ?? new Map());
    const changed = new Set<number>();
    const now = new Set<number>();
    for (const one of tools) {
      // A skill is read and not called: two of them are not one.
      if (one.tool.kind === 'skill') continue;
      now.add(one.slot);
      const known = this.#tools.get(one.slot);
      if (known?.hash !== one.hash || known.tool.name !== one.tool.name) changed.add(one.slot);
    }
    this.forget([...changed, ...[...this.#tools.keys()].filter((slot) => !now.has(slot))]);
    for (const one of tools) {
      if (!changed.has(one.slot)) continue;
      this.#tools.set(one.slot, one);
      this.#neighbours.put(one.slot, one.tool);
      yield;
    }
    return changed;
  }

  /** Forgets these tools, and every pair with one of them. */
  forget(slots: Iterable<number>): void {
    const gone = new Set(slots);
    if (gone.size === 0) return;
    for (const slot of gone) {
      this.#tools.delete(slot);
      this.#judged.delete(slot);
      this.#neighbours.remove(slot);
    }
    for (const pairs of [this.#same, this.#undecided]) {
      for (const [key, { slots: pair }] of pairs) {
        if (pair.some((slot) => gone.has(slot))) pairs.delete(key);
      }
    }
  }

  /** Returns the tool at this slot, which has one. */
  tool(slot: number): MergeableTool {
    return this.#tools.get(slot)!;
  }

  /** Returns what a judge sees of the tool at this slot. */
  judged(slot: number): JudgedTool {
    let judged = this.#judged.get(slot);
    if (judged === undefined) {
      const { tool, hash } = this.#tools.get(slot)!;
      judged = { ...tool, hash };
      this.#judged.set(slot, judged);
    }
    return judged;
  }

  /** Returns the pairs to judge: each of these tools with its neighbours, and pairs that were confused and are not known to be the same. */
  *pairsOf(
    slots: ReadonlySet<number>,
    { confusable = [], signal }: PairScope,
    onShare: (share: number) => void,
  ): Steps<CandidatePair[]> {
    const pairs = new Map(this.#undecided);
    const add = (a: number, b: number, similarity: number | null, confused: number): void => {
      const key = pairKey(a, b);
      if (pairs.has(key) || this.#same.has(key)) return;
      pairs.set(key, { slots: a < b ? [a, b] : [b, a], similarity, confused });
    };
    const before = this.#confused;
    this.#confused = new Map(confusable.map(({ slots: [a, b], confused }) => [pairKey(a, b), confused]));
    for (const {
      slots: [a, b],
      confused,
    } of confusable) {
      if (a === b || !this.#tools.has(a) || !this.#tools.has(b)) continue;
      const isNew = !before.has(pairKey(a, b)) || slots.has(a) || slots.has(b);
      if (isNew) add(a, b, this.#neighbours.similarity(a, b), confused);
    }
    let done = 0;
    for (const slot of slots) {
      for (const near of this.#neighbours.of(slot)) add(slot, near.slot, near.similarity, 0);
      signal?.throwIfAborted();
      if (++done % 100 === 0) onShare(done / slots.size);
      yield;
    }
    return [...pairs.values()].sort((a, b) => a.slots[0] - b.slots[0] || a.slots[1] - b.slots[1]);
  }

  /** Takes in what the judge said of a pair; null: it did not decide. */
  take(pair: CandidatePair, verdict: PairVerdict | null): void {
    const key = pairKey(...pair.slots);
    if (verdict === null) this.#undecided.set(key, pair);
    else this.#undecided.delete(key);
    if (verdict?.relation === 'same') this.#same.set(key, { ...pair, verdict });
  }

  /** Returns the slots of the tools that hang together, by pairs that are the same or because `merged` names them as members of one merge. */
  components(merged: readonly (readonly string[])[]): number[][] {
    const edges: (readonly [number, number])[] = Array.from(this.#same.values(), ({ slots }) => slots);
    if (merged.length > 0) {
      const slotOf = new Map(Array.from(this.#tools.values(), ({ slot, tool }) => [tool.name, slot]));
      for (const names of merged) {
        const [first, ...others] = names.map((name) => slotOf.get(name)).filter((slot) => slot !== undefined);
        for (const other of others) edges.push([first, other]);
      }
    }
    return componentsOf(edges);
  }

  /** Returns the pairs of these tools that are the same, least sure first. */
  within(members: readonly MergeableTool[]): SamePair[] {
    const slots = new Set(members.map(({ slot }) => slot));
    return [...this.#same.entries()]
      .filter(([, { slots: pair }]) => pair.every((slot) => slots.has(slot)))
      .map(([key, pair]) => ({ ...pair, confused: this.#confused.get(key) ?? 0 }))
      .sort((a, b) => a.verdict.confidence - b.verdict.confidence || a.slots[0] - b.slots[0]);
  }

  /** Returns the least and the mean cosine of these tools; null where there are no vectors. */
  similarityWithin(members: readonly MergeableTool[]): { least: number; mean: number } | null {
    let least = 1;
    let sum = 0;
    let count = 0;
    for (const [at, { slot }] of members.entries()) {
      for (const other of members.slice(at + 1)) {
        const cosine = this.#neighbours.similarity(slot, other.slot);
        if (cosine === null) return null;
        least = Math.min(least, cosine);
        sum += cosine;
        if (++count === MOST_COSINES) return { least, mean: sum / count };
      }
    }
    return { least, mean: sum / count };
  }

  /** Returns the pairs that the judge left open, by the names of their tools. */
  undecided(): [string, string][] {
    return Array.from(this.#undecided.values(), (pair) => this.namesOf(pair));
  }

  /** Returns the names of the tools of a pair. */
  namesOf({ slots: [a, b] }: CandidatePair): [string, string] {
    return [this.#tools.get(a)!.tool.name, this.#tools.get(b)!.tool.name];
  }

  /** Frees what only a pass needs. */
  rest(): void {
    this.#neighbours.rest();
  }
}
