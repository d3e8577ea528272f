import { inSlices, type Steps } from '../scheduling/slices.ts';
import type { Audit, Judge, JudgedTool, Pair, PairVerdict } from './judge.ts';
import { compareTools } from './rule-judge-compare.ts';
import { kindOf, type ToolProfile, ToolProfiles } from './rule-judge-profile.ts';

/**
 * Judges by names, descriptions and schemas alone: no network, no model, no chance. It prefers precision: what it does not
 * understand is not the same. See docs/decisions/2026-11-22-which-tools-are-the-same.md.
 */
export class RuleJudge implements Judge {
  readonly name = 'rules';
  readonly #profiles = new ToolProfiles();

  judgePairs(pairs: readonly Pair[], signal?: AbortSignal): Promise<PairVerdict[]> {
    return inSlices(this.#judge(pairs, signal));
  }

  /**
   * Audits in process: in each cluster every kind of tool is the same as every other, so a chain of look-alikes, whose ends are not alike,
   * is cut. Copies, which nothing keeps apart, are one kind.
   */
  audit(tools: readonly JudgedTool[], signal?: AbortSignal): Promise<Audit> {
    return inSlices(this.#audit(tools, signal));
  }

  /** Resolves to null: `unite` makes a description of the members' sentences. */
  describe(): Promise<null> {
    return Promise.resolve(null);
  }

  *#judge(pairs: readonly Pair[], signal?: AbortSignal): Steps<PairVerdict[]> {
    const verdicts: PairVerdict[] = [];
    for (const [a, b] of pairs) {
      signal?.throwIfAborted();
      verdicts.push(compareTools(this.#profiles.of(a), this.#profiles.of(b)));
      yield;
    }
    return verdicts;
  }

  *#audit(tools: readonly JudgedTool[], signal?: AbortSignal): Steps<Audit> {
    const clusters: { kinds: ToolProfile[]; members: number[] }[] = [];
    let apart: string | null = null;
    // Of copies, which differ in nothing but their server, one is compared.
    const known = new Map<string, (typeof clusters)[number]>();
    for (const [at, tool] of tools.entries()) {
      signal?.throwIfAborted();
      const profile = this.#profiles.of(tool);
      const key = kindOf(profile);
      let home = known.get(key);
      for (const cluster of home === undefined ? clusters : []) {
        let fits = true;
        for (const kind of cluster.kinds) {
          const verdict = compareTools(profile, kind);
          yield;
          if (verdict.relation === 'same') continue;
          fits = false;
          apart ??= `${[tool.name, kind.tool.name].sort().join(' and ')}: ${verdict.reason}`;
          break;
        }
        if (!fits) continue;
        home = cluster;
        cluster.kinds.push(profile);
        break;
      }
      if (home === undefined) {
        home = { kinds: [profile], members: [] };
        clusters.push(home);
      }
      home.members.push(at);
      known.set(key, home);
      yield;
    }
    if (clusters.length <= 1)
      return { verdict: 'MERGE_OK', reason: 'every one of them is the same as every other' };
    return {
      verdict: 'MERGE_BAD',
      clusters: clusters.map(({ members }) => members).filter(({ length }) => length > 1),
      reason: apart as string,
    };
  }
}
