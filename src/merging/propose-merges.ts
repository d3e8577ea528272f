import { setImmediate } from 'node:timers/promises';
import type { ProposedMerge } from '../ledger/merge-definition.ts';
import { inSlices } from '../scheduling/slices.ts';
import { type MergeCounts, MergeFindings, type MergeScope } from './merge-findings.ts';

export interface MergePassRequest extends MergeScope {
  /** What the last pass over these tools found: only pairs with a tool that changed since are judged. */
  readonly previous?: MergeFindings | null;
  readonly onProgress?: (progress: MergeProgress) => void;
}

export interface MergeProgress {
  /** 0…1. */
  readonly done: number;
  /** Pairs that are compared in this pass, and that were. */
  readonly pairs: number;
  readonly judged: number;
}

export interface MergePass {
  /** All merges that can be proposed now, by id; what is not among them any more can be withdrawn. */
  readonly proposals: readonly ProposedMerge[];
  readonly counts: MergeCounts;
  /** Names of the tools about which the judge left something undecided: that speaks against no earlier proposal with one of them. */
  readonly undecided: ReadonlySet<string>;
  /** For the next pass in this process. */
  readonly findings: MergeFindings;
}

/** Pairs that are judged before others have their turn. */
const JUDGED_AT_ONCE = 128;
/** Shares of the progress: finding pairs, judging them; the rest is auditing. */
const FOUND = 0.3;
const JUDGED = 0.9;

/**
 * Finds the tools that do the same thing and proposes to merge them (ToolScope, section 3.2): neighbours by vectors and by words,
 * a verdict per pair, components of pairs that are the same, one audit of each, and the united definition. Changes nothing.
 *
 * With `previous` only what changed is looked at. That comes to what a whole pass finds, save where a tool has more neighbours than are
 * compared.
 * @throws the reason of `signal`
 */
export async function proposeMerges(request: MergePassRequest): Promise<MergePass> {
  const { judge, signal } = request;
  const findings = request.previous?.fits(request) ? request.previous : new MergeFindings(request);
  const counts: MergeCounts = {
    pairs: 0,
    same: 0,
    overlapping: 0,
    different: 0,
    undecided: 0,
    unaudited: 0,
    components: 0,
    audited: 0,
    split: 0,
    conflicts: 0,
  };
  const report = (done: number, judged: number): void =>
    request.onProgress?.({ done, pairs: counts.pairs, judged });
  const changed = await inSlices(findings.pairs.update(request));
  try {
    const pairs = await inSlices(
      findings.pairs.pairsOf(changed, request, (share) => report(FOUND * share, 0)),
    );
    counts.pairs = pairs.length;
    for (let from = 0; from < pairs.length; from += JUDGED_AT_ONCE) {
      signal?.throwIfAborted();
      const some = pairs.slice(from, from + JUDGED_AT_ONCE);
      const verdicts = await judge.judgePairs(
        some.map(({ slots: [a, b] }) => [findings.pairs.judged(a), findings.pairs.judged(b)] as const),
        signal,
      );
      for (const [at, pair] of some.entries()) {
        const verdict = verdicts[at] ?? null;
        counts[verdict?.relation ?? 'undecided']++;
        findings.pairs.take(pair, verdict);
      }
      report(FOUND + (JUDGED - FOUND) * ((from + some.length) / pairs.length), from + some.length);
      await setImmediate();
    }
    const components = findings.components(request.merged ?? []);
    counts.components = components.length;
    const proposals: ProposedMerge[] = [];
    for (const [at, component] of components.entries()) {
      signal?.throwIfAborted();
      proposals.push(...(await findings.proposalsOf(component, request, counts)));
      report(JUDGED + (1 - JUDGED) * ((at + 1) / components.length), pairs.length);
    }
    const undecided = findings.undecided();
    findings.endPass(true);
    return { proposals, counts, undecided, findings };
  } catch (error) {
    // Pairs of these tools may not have been judged: the next pass does it.
    findings.pairs.forget(changed);
    findings.endPass(false);
    throw error;
  }
}
