import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SettingsPatch } from '../../src/ledger/catalog-settings.ts';
import type { RouteAnswer } from '../../src/routing/route-answer.ts';
import type { RouteRequest } from '../../src/routing/route-request.ts';
import { toolscopeScores } from '../../src/routing/toolscope-slate.ts';
import { putTools } from '../state/entries.ts';
import { approve, proposalOf, propose } from '../state/merge-entries.ts';
import { RoutedCatalog } from './routed-catalog.ts';

const subQuery = fc.uniqueArray(fc.nat(12), { maxLength: 8 }).chain((slots) =>
  fc.record({
    slots: fc.constant(slots),
    scores: fc.array(fc.integer({ min: -5, max: 5 }), { minLength: slots.length, maxLength: slots.length }),
  }),
);

/** Section 3.3 of the paper, written out: the best of every sub-query, then the others by normalised score. */
function naiveOrder(found: readonly { slots: readonly number[]; scores: readonly number[] }[]): number[] {
  const first: number[] = [];
  const others: [slot: number, score: number][] = [];
  for (const { slots, scores } of found) {
    if (slots.length === 0) continue;
    const most = Math.max(...scores);
    const least = Math.min(...scores);
    first.push(slots[scores.indexOf(most)]);
    for (const [at, slot] of slots.entries()) {
      others.push([slot, most > least ? (scores[at] - least) / (most - least) : 0]);
    }
  }
  others.sort(([slot, score], [other, more]) => more - score || slot - other);
  return [...new Set([...first, ...others.map(([slot]) => slot)])];
}

describe('scores of ToolScope', () => {
  it('order tools as the paper does', () => {
    fc.assert(
      fc.property(fc.array(subQuery, { maxLength: 5 }), (found) => {
        const order = [...toolscopeScores(found)].sort(([slot, score], [other, more]) => {
          return more - score || slot - other;
        });
        expect(order.map(([slot]) => slot)).toEqual(naiveOrder(found));
      }),
    );
  });
});

const QUERY = 'does t3 & does t1';
const PARTED: SettingsPatch = { decomposition: 'clauses', slate: 'toolscope' };

function names({ tools }: Pick<RouteAnswer, 'tools'>): string[] {
  return tools.map(({ name }) => name);
}

async function decided(catalog: RoutedCatalog, more: Partial<RouteRequest> = {}) {
  const answer = await catalog.route({ query: QUERY, explore: true, ...more });
  return (await (await catalog.decisionLogs.open('default')).get(answer.decisionId))!;
}

const PARCELS = 'parcel t3 & parcel t1';

/** A catalog with a reranker, whose tools are all about parcels. */
function reranking(): RoutedCatalog {
  const catalog = new RoutedCatalog(8, { ...PARTED, reranker: { model: 'any', budgetMs: 100 } });
  const tools = [...catalog.state.tools.live()].map(({ tool }) => tool);
  catalog.story.tell(putTools(tools.map((one) => ({ ...one, description: `parcel ${one.name}` }))));
  return catalog;
}

describe('a slate that ToolScope chooses', () => {
  it('has the best tool of every part, in the order of the parts, however it explores', async () => {
    const catalog = new RoutedCatalog(8, PARTED);
    for (let i = 0; i < 20; i++) {
      const answer = await catalog.route({ query: QUERY, explore: true, k: 2 });
      expect(names(answer)).toEqual(['t3', 't1']);
    }
    expect(names(await catalog.route({ query: QUERY, k: 1 }))).toEqual(['t3']);
    expect(names(await catalog.route({ query: 'does t6', k: 1 }))).toEqual(['t6']);
  });

  it('is not drawn, and its decision says so to those who estimate', async () => {
    const decision = await decided(new RoutedCatalog(8, PARTED));
    expect(decision).toMatchObject({
      ...{ slateBy: 'toolscope', exploration: 'greedy', propensityMethod: 'deterministic' },
      ...{ logProbability: 0, learn: true },
    });
    const shown = decision.slate.map((index) => decision.columns.propensity[index]);
    expect(shown).toEqual([1, 1]);
    expect(decision.columns.propensity.reduce((sum, one) => sum + one, 0)).toBe(2);
  });

  it('is asked for by a request, or by the catalog, and the request has the last word', async () => {
    const ofPolicy = new RoutedCatalog(8, { decomposition: 'clauses' });
    expect((await decided(ofPolicy)).slateBy).toBeUndefined();
    expect((await decided(ofPolicy, { slate: 'toolscope' })).slateBy).toBe('toolscope');
    const ofToolscope = new RoutedCatalog(8, PARTED);
    expect((await decided(ofToolscope, { slate: 'policy' })).slateBy).toBeUndefined();
  });

  it('gives way to the kill switch', async () => {
    const decision = await decided(new RoutedCatalog(8, { ...PARTED, killSwitch: true }));
    expect(decision).toMatchObject({ fallback: 'kill_switch' });
    expect(decision.slateBy).toBeUndefined();
  });

  it('has pins first, and nothing that is excluded or cannot be called', async () => {
    const catalog = new RoutedCatalog(8, PARTED);
    const pinned = await catalog.route({ query: QUERY, k: 3, pin: ['t6'] });
    expect(names(pinned)).toEqual(['t6', 't3', 't1']);
    expect(names(await catalog.route({ query: QUERY, k: 8, exclude: ['t3'] }))).not.toContain('t3');
    catalog.unavailable = ['t1'];
    const without = await catalog.route({ query: QUERY, k: 8 });
    expect(names(without)[0]).toBe('t3');
    expect(names(without)).not.toContain('t1');
  });

  it('is kept within a budget, the best of the parts first', async () => {
    const catalog = new RoutedCatalog(8, PARTED);
    const all = await catalog.route({ query: QUERY, k: 2, tokenBudget: 10_000, format: 'mcp' });
    expect(names(all).sort()).toEqual(['t1', 't3']);
    const one = all.tools[0].tokens!;
    const less = await catalog.route({ query: QUERY, k: 2, tokenBudget: one + 1, format: 'mcp' });
    expect(names(less)).toEqual(['t3']);
  });

  it('looks at the tools of each part more closely where the catalog has a reranker', async () => {
    const catalog = reranking();
    const asked: string[] = [];
    // Contrary to all words: t5 for the one part, t0 for the other.
    const best: Record<string, string> = { 'parcel t3': 't5', 'parcel t1': 't0' };
    catalog.rerank = async (query, documents) => {
      asked.push(query);
      return { scores: documents.map((text) => (text.startsWith(`${best[query]}:`) ? 9 : -9)) };
    };
    expect(names(await catalog.route({ query: PARCELS, k: 2 }))).toEqual(['t5', 't0']);
    expect(asked).toEqual(['parcel t3', 'parcel t1', PARCELS]);
    asked.length = 0;
    await catalog.route({ query: PARCELS, k: 2, slate: 'policy' });
    expect(asked).toEqual([PARCELS]);
  });

  it('takes the fused order of a part that the reranker had no time for, and the decision says so', async () => {
    const catalog = reranking();
    catalog.rerank = async (query, documents) => {
      if (query === 'parcel t1') return { missing: 'the reranker took more than 100 ms' };
      return { scores: documents.map((text) => (text.startsWith('t5:') ? 1 : 0)) };
    };
    const decision = await decided(catalog, { query: PARCELS });
    expect(decision.slate.map((index) => decision.candidates[index])).toEqual(['t5', 't1']);
    expect(decision.rerank).toEqual({ by: 'any', fallback: 'the reranker took more than 100 ms' });
  });

  it('has a merged tool once, by what the reranker says of the united definition', async () => {
    const catalog = reranking();
    const proposal = proposalOf(catalog.state, ['t4', 't5']);
    const definition = { ...proposal.definition, description: 'parcel of either kind' };
    catalog.story.tell(propose({ ...proposal, definition }));
    expect(catalog.story.tell(approve(catalog.story.state, proposal.id))).toMatchObject({ kind: 'merges' });
    catalog.rerank = async (_, documents) => ({
      scores: documents.map((text) => (text.includes('of either kind') ? 1 : 0)),
    });
    const answer = await catalog.route({ query: 'parcel t4', k: 8 });
    expect(names(answer)[0]).toBe('t4');
    expect(names(answer)).not.toContain('t5');
  });

  it('is explained as what it is', async () => {
    const catalog = new RoutedCatalog(8, PARTED);
    const { decisionId } = await catalog.ask({ query: QUERY, k: 2 });
    expect(await catalog.routing.explain(decisionId)).toMatchObject({ slateBy: 'toolscope' });
  });
});
