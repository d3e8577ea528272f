import type { LookAlike } from '../ledger/merge-run.ts';
import type { ToolTable } from '../state/tool-table.ts';
import type { Judge, Pair, PairVerdict } from './judge.ts';

/** Most look-alikes that are kept of a catalog, first those that overlap. */
const MAX_LOOK_ALIKES = 100;
/** Longer reasons are cut: a model may have written them. */
const REASON_LENGTH = 300;

/** Collects from a judge the pairs that look alike and are not the same, for those who ask why they are not merged. */
export class LookAlikes {
  /** Pairs by both names; null: they are the same. */
  readonly #judged = new Map<string, LookAlike | null>();

  /** Returns a judge that answers as this one does, and is listened to. */
  listenTo(judge: Judge): Judge {
    return {
      name: judge.name,
      judgePairs: async (pairs, signal) => {
        const verdicts = await judge.judgePairs(pairs, signal);
        for (const [at, pair] of pairs.entries()) this.#note(pair, verdicts[at] ?? null);
        return verdicts;
      },
      audit: (tools, signal) => judge.audit(tools, signal),
      describe: (tools, representative, signal) => judge.describe(tools, representative, signal),
    };
  }

  /** Returns those of this run, and those of earlier ones whose tools are as they were and were not compared again. */
  after(earlier: readonly LookAlike[], tools: ToolTable): LookAlike[] {
    const isThere = ({ tools: pair }: LookAlike): boolean =>
      pair.every(({ name, hash }) => tools.get(name)?.hash === hash);
    const known = earlier.filter((one) => !this.#judged.has(keyOf(one)));
    const found = [...this.#judged.values()].filter((one) => one !== null);
    return [...found, ...known].filter(isThere).sort(inOrder).slice(0, MAX_LOOK_ALIKES);
  }

  #note([a, b]: Pair, verdict: PairVerdict | null): void {
    const tools = [a, b].map(({ name, hash }) => ({ name, hash })).sort((x, y) => (x.name < y.name ? -1 : 1));
    const { relation = 'same', confidence = 0, reason = '' } = verdict ?? {};
    const one = { tools, relation, confidence, reason: reason.slice(0, REASON_LENGTH) };
    this.#judged.set(keyOf(one), relation === 'same' ? null : { ...one, relation });
    if (this.#judged.size > 4 * MAX_LOOK_ALIKES) this.#drop();
  }

  /** Forgets all pairs but the first in order, which are the ones that are wanted; also that the others were judged. */
  #drop(): void {
    const kept = [...this.#judged].filter(([, one]) => one !== null) as [string, LookAlike][];
    kept.sort(([, a], [, b]) => inOrder(a, b));
    this.#judged.clear();
    for (const [key, one] of kept.slice(0, MAX_LOOK_ALIKES)) this.#judged.set(key, one);
  }
}

function keyOf({ tools }: Pick<LookAlike, 'tools'>): string {
  return JSON.stringify(tools.map(({ name }) => name));
}

/** What overlaps before what is different, the surest first. */
function inOrder(a: LookAlike, b: LookAlike): number {
  if (a.relation !== b.relation) return a.relation === 'overlapping' ? -1 : 1;
  return b.confidence - a.confidence || (keyOf(a) < keyOf(b) ? -1 : 1);
}
