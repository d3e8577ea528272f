import { setImmediate } from 'node:timers/promises';
import type { ToolVectors } from '../../bandit/tool-vectors.ts';
import { type MergeVerdict, mergeId, type ProposedMerge } from '../ledger/merge-definition.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { inSlices } from '../scheduling/slices.ts';
import { auditComponent, type MergeableTool, unitable } from './audit-component.ts';
import { guarded } from './guarded.ts';
import type { Judge } from './judge.ts';
import { JudgedPairs, type PairScope } from './judged-pairs.ts';
import { representativeOf, unite } from './unite-definitions.ts';

/** What a pass is about, and whom it asks. */
export interface MergeScope extends PairScope {
  readonly judge: Judge;
  /** What a definition takes in the context of a model. */
  readonly tokensOf: (tool: ToolDefinition) => number;
  /** Members of approved merges, by name: a proposal has all of them or none. */
  readonly merged?: readonly (readonly string[])[];
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

/** What an audit came to. */
interface Audited {
  readonly proposals: readonly ProposedMerge[];
  readonly isSplit: boolean;
  readonly conflicts: number;
  /** Names of the tools about which it did not decide. */
  readonly undecided: readonly string[];
}

/**
 * Keeps what is known after a pass: the pairs of tools, and the audits of the components of those that are the same. It belongs to one
 * catalog, its vectors, a threshold and a judge.
 */
export class MergeFindings {
  readonly pairs: JudgedPairs;
  readonly #vectors: ToolVectors | null;
  readonly #threshold: number;
  readonly #judge: string;
  /** Audits by the id of the component; of the last pass, and of this one. */
  #audited = new Map<string, Audited>();
  #auditedNow = new Map<string, Audited>();
  /** Names of the tools about which an audit of this pass did not decide. */
  #unaudited = new Set<string>();
  /** The names of the members of an approved merge, by each of them. */
  #wholeOf: ReadonlyMap<string, readonly string[]> = new Map();

  constructor({ kernels, vectors, threshold, judge }: MergeScope) {
    this.pairs = new JudgedPairs({ kernels, vectors, threshold });
    this.#vectors = vectors;
    this.#threshold = threshold;
    this.#judge = judge.name;
  }

  /** Whether these findings are about the same vectors, threshold and kind of judge. */
  fits({ vectors, threshold, judge }: MergeScope): boolean {
    return vectors === this.#vectors && threshold === this.#threshold && judge.name === this.#judge;
  }

  /** Returns the slots of the tools that hang together by pairs that are the same, in which every approved merge is whole. */
  components(merged: readonly (readonly string[])[]): number[][] {
    this.#wholeOf = new Map(merged.flatMap((names) => names.map((name) => [name, names])));
    return this.pairs.components(merged);
  }

  /** Audits a component, unless it was, and returns the merges that it comes to. */
  async proposalsOf(
    component: readonly number[],
    request: MergeScope,
    counts: MergeCounts,
  ): Promise<readonly ProposedMerge[]> {
    const members = component
      .map((slot) => this.pairs.tool(slot))
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
    for (const pair of this.pairs.undecided()) for (const name of pair) names.add(name);
    return names;
  }

  /** Ends a pass: the next one begins with what is known now. @param complete every component was looked at: audits of others are forgotten */
  endPass(complete: boolean): void {
    this.pairs.rest();
    this.#unaudited.clear();
    if (!complete) return;
    this.#audited = this.#auditedNow;
    this.#auditedNow = new Map();
  }

  async #audit(members: readonly MergeableTool[], request: MergeScope): Promise<Audited> {
    const { clusters, reason, isSplit, undecided } = await auditComponent(members, (some) =>
      request.judge.audit(
        some.map(({ slot }) => this.pairs.judged(slot)),
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
      members.map(({ slot }) => this.pairs.judged(slot)),
      tools.findIndex(({ name }) => name === representative),
      signal,
    );
    const definition = described === null ? union.definition : { ...union.definition, ...described };
    const pairs = this.pairs.within(members);
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
        similarity: this.pairs.similarityWithin(members),
        judge: judge.name,
        reason,
        verdicts: pairs
          .slice(0, MOST_VERDICTS)
          .map((pair): MergeVerdict => ({ pair: this.pairs.namesOf(pair), ...pair.verdict })),
        ...(outcomes.length === 0
          ? {}
          : {
              outcomes: outcomes.map((pair) => ({ pair: this.pairs.namesOf(pair), confused: pair.confused })),
            }),
        ...(union.guesses.length === 0 ? {} : { notes: union.guesses.slice(0, MOST_VERDICTS) }),
      },
      tokensSaved: tools.reduce((sum, tool) => sum + tokensOf(tool), 0) - tokensOf(definition),
      ...(guard === null ? {} : { guarded: guard }),
    };
  }

  /** Returns a merge with the pairs of its tools that the judge has left open, as notes. */
  #withOpenPairs(merge: ProposedMerge): ProposedMerge {
    const names = new Set(merge.members.map(({ name }) => name));
    const open = this.pairs
      .undecided()
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
}
