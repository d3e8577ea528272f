import { setImmediate } from 'node:timers/promises';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { ToolVectors } from '../../bandit/tool-vectors.ts';
import { type MergeVerdict, mergeId, type ProposedMerge } from '../ledger/merge-definition.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { inSlices, type Steps } from '../scheduling/slices.ts';
import { type ConfusablePair, pairKey } from '../state/confusable-pairs.ts';
import { auditComponent, type MergeableTool, unitable } from './audit-component.ts';
import { componentsOf } from './components.ts';
import { guarded } from './guarded.ts';
import type { Judge, JudgedTool, PairVerdict } from './judge.ts';
import { ToolNeighbours } from './tool-neighbours.ts';
import { representativeOf, unite } from './unite-definitions.ts';

/** What a pass is about, and whom it asks. */
export interface MergeScope {
  readonly tools: readonly MergeableTool[];
  readonly kernels: Kernels;
  /** What is served, by slot; null: there is no embedder, and words decide alone which tools are compared. */
  readonly vectors: ToolVectors | null;
  /** The vectors of the definitions of tools, by slot, where `vectors` has that of what is served in their place. */
  readonly own?: ReadonlyMap<number, Float32Array>;
  /** Least cosine of tools that are compared. */
  readonly threshold: number;
  readonly judge: Judge;
  /** What a definition takes in the context of a model. */
  readonly tokensOf: (tool: ToolDefinition) => number;
  /** Compared whatever texts say. */
  readonly confusable?: readonly ConfusablePair[];
  /** Members of approved merges, by name: a proposal has all of them or none. */
  readonly merged?: readonly (readonly string[])[];
  readonly signal?: AbortSignal | undefined;
}

/** What became of the pairs and components of one pass. */
export interface MergeCounts {
  /** Pairs that were compared. */
  pairs: number;
  same: number;
  overlapping: number;
  different: number;
  undecided: number;
  /** Components with tools about which an audit did not decide. */
  unaudited: number;
  /** Components with at least two tools, those that were audited in this pass, and those that an audit took apart. */
  components: number;
  audited: number;
  split: number;
  /** Tools that were left out of a merge, since their parameters cannot be united. */
  conflicts: number;
}

/** Verdicts that are kept as evidence of one merge. */
const MOST_VERDICTS = 20;
/** Pairs whose similarity counts in the evidence of one merge. */
const MOST_COSINES = 2_000;

export interface CandidatePair {
  /** The lower slot first. */
  readonly slots: readonly [number, number];
  readonly similarity: number | null;
  readonly confused: number;
}

interface SamePair extends CandidatePair {
  readonly verdict: PairVerdict;
}

/** What an audit came to. */
interface Audited {
  readonly proposals: readonly ProposedMerge[];
  readonly isSplit: boolean;
  readonly conflicts: number;
  /** Names of the tools about which it did not decide. */
  readonly undecided: readonly string[];
}

/**
 * What is known after a pass: the words of the tools, the pairs that are the same, and the audits of their components. It belongs to one
 * catalog, its vectors, a threshold and a judge.
 */
export class MergeFindings {
  readonly #neighbours: ToolNeighbours;
  readonly #vectors: ToolVectors | null;
  readonly #threshold: number;
  readonly #judge: string;
  readonly #tools = new Map<number, MergeableTool>();
  /** The same as judges see them: one object per tool, so that a judge can keep what it made of it. */
  readonly #judged = new Map<number, JudgedTool>();
  readonly #same = new Map<number, SamePair>();
  /** Pairs that the judge did not decide: the next pass asks again. */
  readonly #undecided = new Map<number, CandidatePair>();
  /** By the id of the component; of the last pass, and of this one. */
  #audited = new Map<string, Audited>();
  #auditedNow = new Map<string, Audited>();
  /** Names of the tools about which an audit of this pass did not decide. */
  #unaudited = new Set<string>();
  #confused = new Map<number, number>();
  /** The names of the members of an approved merge, by each of them. */
  #wholeOf: ReadonlyMap<string, readonly string[]> = new Map();

  constructor({ kernels, vectors, threshold, judge }: MergeScope) {
    this.#neighbours = new ToolNeighbours(kernels, vectors, threshold);
    this.#vectors = vectors;
    this.#threshold = threshold;
    this.#judge = judge.name;
  }

  /** Whether these findings are about the same vectors, threshold and kind of judge. */
  fits({ vectors, threshold, judge }: MergeScope): boolean {
    return vectors === this.#vectors && threshold === this.#threshold && judge.name === this.#judge;
  }

  /** Takes in the tools as they are now; returns the slots of those that are new or changed. */
  *update({ tools, own }: Pick<MergeScope, 'tools' | 'own'>): Steps<Set<number>> {
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
    { confusable = [], signal }: MergeScope,
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

  take(pair: CandidatePair, verdict: PairVerdict | null): void {
    const key = pairKey(...pair.slots);
    if (verdict === null) this.#undecided.set(key, pair);
    else this.#undecided.delete(key);
    if (verdict?.relation === 'same') this.#same.set(key, { ...pair, verdict });
  }

  /** Returns the tools that hang together by pairs that are the same, in which every approved merge is whole. */
  components(merged: readonly (readonly string[])[]): number[][] {
    const edges: (readonly [number, number])[] = Array.from(this.#same.values(), ({ slots }) => slots);
    this.#wholeOf = new Map(merged.flatMap((names) => names.map((name) => [name, names])));
    if (merged.length > 0) {
      const slotOf = new Map(Array.from(this.#tools.values(), ({ slot, tool }) => [tool.name, slot]));
      for (const names of merged) {
        const [first, ...others] = names.map((name) => slotOf.get(name)).filter((slot) => slot !== undefined);
        for (const other of others) edges.push([first, other]);
      }
    }
    return componentsOf(edges);
  }

  /** Audits a component, unless it was, and returns the merges that it comes to. */
  async proposalsOf(
    component: readonly number[],
    request: MergeScope,
    counts: MergeCounts,
  ): Promise<readonly ProposedMerge[]> {
    const members = component
      .map((slot) => this.#tools.get(slot)!)
      .sort((a, b) => (a.tool.name < b.tool.name ? -1 : 1));
    const key = mergeId(members.map(({ tool: { name }, hash }) => ({ name, hash })));
    let known = this.#audited.get(key) ?? this.#auditedNow.get(key);
    if (known === undefined) {
      known = await this.#audit(members, request);
      counts.audited++;
    }
    await setImmediate();
    if (known.undecided.length === 0) this.#auditedNow.set(key, known);
    else counts.unaudited++;
    for (const name of known.undecided) this.#unaudited.add(name);
    if (known.isSplit) counts.split++;
    counts.conflicts += known.conflicts;
    return known.proposals
      .filter((proposal) => this.#keepsWhole(proposal))
      .map((proposal) => this.#withOpenPairs(proposal));
  }

  /** Returns the names of the tools about which the judge left something undecided in this pass, a pair or an audit. */
  undecided(): ReadonlySet<string> {
    const names = new Set(this.#unaudited);
    for (const pair of this.#undecided.values()) for (const name of this.#namesOf(pair)) names.add(name);
    return names;
  }

  /** Ends a pass: the next one begins with what is known now. @param complete every component was looked at: audits of others are forgotten */
  endPass(complete: boolean): void {
    this.#neighbours.rest();
    this.#unaudited.clear();
    if (!complete) return;
    this.#audited = this.#auditedNow;
    this.#auditedNow = new Map();
  }

  async #audit(members: readonly MergeableTool[], request: MergeScope): Promise<Audited> {
    const { clusters, reason, isSplit, undecided } = await auditComponent(members, (some) =>
      request.judge.audit(
        some.map(({ slot }) => this.judged(slot)),
        request.signal,
      ),
    );
    const proposals: ProposedMerge[] = [];
    let conflicts = 0;
    for (const cluster of clusters) {
      if (cluster.length < 2) continue;
      const { groups, left } = await inSlices(unitable(cluster));
      conflicts += left;
      for (const group of groups) proposals.push(await this.#propose(group, reason, request));
    }
    return { proposals, isSplit, conflicts, undecided: undecided.map(({ tool }) => tool.name) };
  }

  async #propose(
    group: readonly MergeableTool[],
    reason: string,
    { judge, tokensOf, signal }: MergeScope,
  ): Promise<ProposedMerge> {
    const members = group.toSorted(({ tool: a }, { tool: b }) => (a.name < b.name ? -1 : 1));
    const tools = members.map(({ tool }) => tool);
    const representative = representativeOf(tools.map(({ name }) => name));
    const union = await inSlices(unite(tools, representative));
    if ('conflict' in union) throw new Error(`tools that were united before cannot be: ${union.conflict}`);
    const described = await judge.describe(
      members.map(({ slot }) => this.judged(slot)),
      tools.findIndex(({ name }) => name === representative),
      signal,
    );
    const definition = described === null ? union.definition : { ...union.definition, ...described };
    const pairs = this.#pairsWithin(members);
    const names = members.map(({ tool: { name }, hash }) => ({ name, hash }));
    const outcomes = pairs.filter(({ confused }) => confused > 0);
    const guard = guarded(tools) ?? union.guesses[0] ?? null;
    return {
      id: mergeId(names),
      members: names,
      representative,
      definition,
      mappings: union.mappings,
      confidence: pairs.reduce((least, { verdict }) => Math.min(least, verdict.confidence), 1),
      evidence: {
        similarity: this.#similarityWithin(members),
        judge: judge.name,
        reason,
        verdicts: pairs.slice(0, MOST_VERDICTS).map((pair) => this.#verdictOf(pair)),
        ...(outcomes.length === 0
          ? {}
          : { outcomes: outcomes.map((pair) => ({ pair: this.#namesOf(pair), confused: pair.confused })) }),
        ...(union.guesses.length === 0 ? {} : { notes: union.guesses.slice(0, MOST_VERDICTS) }),
      },
      tokensSaved: tools.reduce((sum, tool) => sum + tokensOf(tool), 0) - tokensOf(definition),
      ...(guard === null ? {} : { guarded: guard }),
    };
  }

  /** Returns a merge with the pairs of its tools that the judge has left open, as notes. */
  #withOpenPairs(merge: ProposedMerge): ProposedMerge {
    const names = new Set(merge.members.map(({ name }) => name));
    const open = [...this.#undecided.values()]
      .map((pair) => this.#namesOf(pair))
      .filter((pair) => pair.every((name) => names.has(name)))
      .map((pair) => `The judge did not decide about ${pair.join(' and ')}.`);
    if (open.length === 0) return merge;
    const notes = [...(merge.evidence.notes ?? []), ...open].slice(0, MOST_VERDICTS);
    return { ...merge, evidence: { ...merge.evidence, notes } };
  }

  /** Whether a merge has all members of every approved merge from which it has one. */
  #keepsWhole({ members }: ProposedMerge): boolean {
    const names = new Set(members.map(({ name }) => name));
    const wholes = new Set(members.flatMap(({ name }) => [this.#wholeOf.get(name) ?? []]));
    return [...wholes].every((whole) => whole.every((name) => names.has(name)));
  }

  /** The pairs of these tools that are the same, least sure first. */
  #pairsWithin(members: readonly MergeableTool[]): SamePair[] {
    const slots = new Set(members.map(({ slot }) => slot));
    return [...this.#same.entries()]
      .filter(([, { slots: pair }]) => pair.every((slot) => slots.has(slot)))
      .map(([key, pair]) => ({ ...pair, confused: this.#confused.get(key) ?? 0 }))
      .sort((a, b) => a.verdict.confidence - b.verdict.confidence || a.slots[0] - b.slots[0]);
  }

  #similarityWithin(members: readonly MergeableTool[]): { least: number; mean: number } | null {
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

  #verdictOf(pair: SamePair): MergeVerdict {
    return { pair: this.#namesOf(pair), ...pair.verdict };
  }

  #namesOf({ slots: [a, b] }: CandidatePair): [string, string] {
    return [this.#tools.get(a)!.tool.name, this.#tools.get(b)!.tool.name];
  }
}
