import { describe, expect, it } from 'vitest';
import { SLATE_FORMATS, type SlateFormat } from '../../src/decisions/decision.ts';
import type { Problem } from '../../src/errors/problem.ts';
import { instructionScores } from '../../src/routing/budget-corpora.ts';
import type { RouteRequest } from '../../src/routing/route-request.ts';
import { textForModel } from '../../src/routing/slate-definition.ts';
import { TokenCosts } from '../../src/routing/token-costs.ts';
import { instruction, putInstructions, tool } from '../state/entries.ts';
import { RoutedCatalog } from './routed-catalog.ts';

/** Every tool costs as many tokens as its name has characters: 2. */
const TOOL = 2;
/** All six tools in full, as a model that has them all gets them: in a format of names, too. */
const ALL = 6 * textForModel('mcp', 'full', tool('t0')).length;

async function decisionOf(catalog: RoutedCatalog, more: Partial<RouteRequest>) {
  const { decisionId } = await catalog.route(more);
  return catalog.routing.find(decisionId);
}

const approved = (id: string, more = {}) =>
  instruction(id, { status: 'approved', text: `does ${id}`, ...more });

function withInstructions(...more: Parameters<typeof putInstructions>[0][number][]): RoutedCatalog {
  const catalog = new RoutedCatalog(6);
  catalog.story.tell(putInstructions(more));
  return catalog;
}

describe('a route request with a token budget', () => {
  it('is compared with all tools in full, in the format of its definitions, and in `mcp` where there are none', async () => {
    const catalog = new RoutedCatalog(6);
    const monolithic = async (format: SlateFormat) =>
      (await catalog.route({ format, tokenBudget: 500 })).tokens?.monolithic;
    for (const format of SLATE_FORMATS) {
      const whole = textForModel(format === 'names' ? 'mcp' : format, 'full', tool('t0')).length;
      expect(await monolithic(format)).toBe(6 * whole);
    }
    const brief = await catalog.route({ format: 'mcp', detail: 'names', tokenBudget: 500 });
    expect(brief.tokens?.monolithic).toBe(ALL);
  });

  it('gets what fits, and is told what does not', async () => {
    const catalog = new RoutedCatalog(6);
    const { slate, candidates, budget, columns } = await decisionOf(catalog, { k: 3, tokenBudget: 2 * TOOL });
    expect(slate).toHaveLength(2);
    expect(candidates[slate[0]]).toBe('t1');
    expect(budget).toMatchObject({
      ...{
        tokenBudget: 4,
        assembly: 'parts',
        counter: 'characters',
        tokens: Array(6).fill(TOOL),
        monolithic: ALL,
      },
    });
    expect(budget?.leftOut).toHaveLength(1);
    expect(columns.propensity.reduce((sum, p) => sum + p, 0)).toBe(2);
  });

  it('without a limit that binds gets the slate of a request without one', async () => {
    const catalog = new RoutedCatalog(6);
    const plain = await decisionOf(catalog, { k: 3, pin: ['t3'] });
    const rich = await decisionOf(catalog, { k: 3, pin: ['t3'], tokenBudget: 1000 });
    expect(rich.slate.map((index) => rich.candidates[index])).toEqual(
      plain.slate.map((index) => plain.candidates[index]),
    );
    expect(rich.reasons).toEqual(plain.reasons);
    expect(plain.budget).toBeUndefined();
    expect(plain.instructions).toBeUndefined();
  });

  it('that is below the pins is refused with what they need', async () => {
    const catalog = new RoutedCatalog(6);
    const problem = (await catalog
      .route({ pin: ['t1', 't2'], tokenBudget: 3 })
      .catch((error) => error)) as Problem;
    expect(problem).toMatchObject({
      code: 'budget-too-small',
      violations: [{ path: 'tokenBudget', message: 'must be at least 4' }],
    });
  });

  it('that is below every tool gets an empty slate', async () => {
    const { slate, budget } = await decisionOf(new RoutedCatalog(6), { k: 2, tokenBudget: 1 });
    expect(slate).toEqual([]);
    expect(budget?.leftOut).toHaveLength(2);
  });

  it('gets the tools that the fail mode chooses, as far as they fit', async () => {
    const catalog = new RoutedCatalog(6);
    catalog.embedderDown = true;
    const { slate, fallback, columns } = await decisionOf(catalog, {
      query: 'xyzzy',
      k: 5,
      tokenBudget: 3 * TOOL,
    });
    expect(slate).toHaveLength(3);
    expect(fallback).not.toBeNull();
    expect([...columns.propensity].sort()).toEqual([0, 0, 1, 1, 1].slice(5 - columns.propensity.length));
  });

  it('explores in one place, with exact propensities, and the same draw for the same decision', async () => {
    const catalog = new RoutedCatalog(6);
    const request = { k: 2, tokenBudget: 2 * TOOL, explore: true };
    const one = await decisionOf(catalog, request);
    expect(one).toMatchObject({ exploration: 'plackett-luce', propensityMethod: 'exact' });
    for (const p of one.columns.propensity) expect(p > 0 && p <= 1).toBe(true);
    expect(one.columns.propensity.reduce((sum, p) => sum + p, 0)).toBeLessThanOrEqual(2 + 1e-6);
    const again = await catalog.route(request, { idempotencyKey: 'key' });
    expect(await catalog.route(request, { idempotencyKey: 'key' })).toEqual(again);
  });
});

it('instructions have a share of the scores that there are as the score of `itr`', () => {
  const columns = (...values: number[]) => Float64Array.from(values);
  const lexical = columns(1, 0.5);
  const candidates = {
    ...{ slots: Int32Array.of(0, 1), lexical, dense: lexical, base: lexical },
    similarity: columns(1, 0.2),
  };
  const itr = { name: 'itr', parameters: { w1: 1, w2: 1, w3: 3 } } as never;
  expect([...instructionScores(itr, candidates, true)]).toEqual([1, 0.35]);
  const words = { ...candidates, similarity: columns(0, 0) };
  expect([...instructionScores(itr, words, false)]).toEqual([1, 0.5]);
});

it('the tools of a large catalog are counted once per format, also when formats alternate', async () => {
  const { state } = new RoutedCatalog(200);
  const costs = new TokenCosts({ name: 'characters', count: (text: string) => text.length } as never);
  let asked = 0;
  const tool = costs.tool.bind(costs);
  costs.tool = (...one) => {
    asked++;
    return tool(...one);
  };
  for (const format of ['openai', 'mcp', 'openai', 'mcp'] as const) await costs.countAll(state, format);
  expect(asked).toBe(2 * 200);
});

describe('a route request with instructions', () => {
  it('gets the overlay always, the best others within its limits, and no drafts', async () => {
    const catalog = withInstructions(
      approved('s', { kind: 'safety' }),
      approved('t1'),
      approved('t2'),
      instruction('draft'),
    );
    const { instructions, budget } = await decisionOf(catalog, { instructions: true, maxInstructions: 1 });
    expect(instructions?.overlay).toMatchObject([{ id: 's', tokens: 'does s'.length }]);
    expect([...(instructions?.ids ?? [])].sort()).toEqual(['t1', 't2']);
    expect(instructions?.shown.map((index) => instructions.ids[index])).toEqual(['t1']);
    expect(budget?.monolithic).toBe(ALL + 'does sdoes t1does t2'.length);
    const none = await decisionOf(catalog, { instructions: true, maxInstructions: 0 });
    expect(none.instructions?.shown).toEqual([]);
  });

  it('explores by gains in the units of scores, and not among all that are there', async () => {
    const catalog = withInstructions(
      approved('t1'),
      approved('t1 too'),
      ...Array.from({ length: 30 }, (_, i) => approved(`other ${i}`, { text: `is about ${i} alone` })),
    );
    const { instructions } = await decisionOf(catalog, {
      ...{ instructions: true, maxInstructions: 1, explore: true },
    });
    const { ids, score, propensity } = instructions!;
    expect(ids).toHaveLength(32);
    // Nothing was learned: the gain is .1·S. One place, and nothing is an option of the draw.
    const weights = [0, ...score].map((one) => Math.exp((0.1 * one) / 0.2 / 0.03));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    for (const [at, p] of propensity.entries()) expect(p).toBeCloseTo(weights[at + 1] / total, 9);
    const rest = propensity.filter((_, at) => ids[at].startsWith('other'));
    expect(propensity[ids.indexOf('t1')]).toBeGreaterThan(0.5);
    expect(rest.reduce((sum, p) => sum + p, 0)).toBeLessThan(0.05);
  });

  it('is refused when the overlay alone does not fit', async () => {
    const catalog = withInstructions(approved('s', { kind: 'safety' }));
    const problem = await catalog.route({ instructions: true, tokenBudget: 5 }).catch((error) => error);
    expect(problem).toMatchObject({
      code: 'budget-too-small',
      violations: [{ message: 'must be at least 6' }],
    });
  });

  it('gets what an instruction includes with it, at its cost', async () => {
    const catalog = withInstructions(
      approved('t1', { includes: ['other'] }),
      approved('other', { text: 'x'.repeat(20) }),
    );
    const more = { instructions: true, maxInstructions: 1, k: 1 };
    const { instructions } = await decisionOf(catalog, { ...more, tokenBudget: 40 });
    expect(instructions?.shown.map((index) => instructions.ids[index])).toEqual(['t1', 'other']);
    const poor = await decisionOf(catalog, { ...more, tokenBudget: 20 });
    expect(poor.instructions?.shown).toEqual([]);
  });

  it('gets a prompt within its budget, with what is included, whose breaks take tokens as well', async () => {
    const ids = Array.from({ length: 16 }, (_, i) => `part ${i}`);
    const catalog = withInstructions(approved('t1', { includes: ids }), ...ids.map((id) => approved(id)));
    const more = { instructions: true, maxInstructions: 1, k: 1, assembly: 'prompt' } as const;
    let most = 0;
    for (let tokenBudget = 200; tokenBudget < 500; tokenBudget++) {
      const { tokens, instructions = [] } = await catalog.route({ ...more, tokenBudget });
      expect(tokens?.total).toBeLessThanOrEqual(tokenBudget);
      most = Math.max(most, instructions.length);
    }
    expect(most).toBe(17);
  });

  it('never costs more than its budget, whatever is drawn', async () => {
    const catalog = withInstructions(
      approved('s', { kind: 'safety' }),
      ...Array.from({ length: 8 }, (_, i) => approved(`i${i}`, { text: `does t${i} ${'word '.repeat(i)}` })),
    );
    for (let tokenBudget = 10; tokenBudget < 120; tokenBudget += 3) {
      const { slate, budget, instructions } = await decisionOf(catalog, {
        instructions: true,
        tokenBudget,
        explore: true,
      });
      const total =
        slate.reduce((sum, index) => sum + budget!.tokens[index], 0) +
        instructions!.shown.reduce((sum, index) => sum + instructions!.tokens[index], 0) +
        instructions!.overlay.reduce((sum, { tokens }) => sum + tokens, 0);
      expect(total).toBeLessThanOrEqual(tokenBudget);
    }
  });
});

describe('instructions of a catalog with a reranker', () => {
  const ask = { instructions: true, maxInstructions: 1, query: 'does one and two' };
  const reranked = (policy: object = {}) => {
    const settings = { reranker: { model: 'any', budgetMs: 100 }, ...policy };
    const catalog = new RoutedCatalog(3, settings);
    catalog.story.tell(putInstructions([approved('one'), approved('two')]));
    const read: (readonly string[])[] = [];
    catalog.rerank = async (_, documents) => {
      read.push(documents);
      return { scores: documents.map((text) => Number(text === 'does two')) };
    };
    return { catalog, read };
  };

  it.each([{}, { policy: { name: 'itr' } }])('are chosen by what it says, with %j', async (policy) => {
    const { catalog, read } = reranked(policy);
    const { decisionId, instructions } = await catalog.route(ask);
    expect(instructions?.map(({ id }) => id)).toEqual(['two']);
    expect(read.at(-1)).toEqual(expect.arrayContaining(['does one', 'does two']));
    const { instructions: record, ...decision } = await catalog.routing.find(decisionId);
    const [first, second] = ['two', 'one'].map((id) => record!.score[record!.ids.indexOf(id)]);
    expect(first - second).toBeGreaterThan(0.3);
    expect(Math.max(first, second)).toBeLessThanOrEqual(1);
    expect(decision.rerank).toEqual({ by: 'any', fallback: null, instructions: null });
  });

  it('are in the order of retrieval where it says nothing, and the decision says why', async () => {
    const { catalog } = reranked();
    catalog.rerank = async (_, [first, ...others]) =>
      first.startsWith('does') ? { missing: 'too slow' } : { scores: [1, ...others.map(() => 0)] };
    const { rerank } = await decisionOf(catalog, ask);
    expect(rerank).toEqual({ by: 'any', fallback: null, instructions: 'too slow' });
  });

  it('are read once for a query that comes again, anew after a change, and only where some are wanted', async () => {
    const { catalog, read } = reranked();
    await catalog.route({ query: ask.query });
    await catalog.route({ query: ask.query, assembly: 'prompt', tokenBudget: 900 });
    expect(read).toHaveLength(1);
    await catalog.route(ask);
    await catalog.route(ask);
    expect(read).toHaveLength(3);
    catalog.story.tell(putInstructions([approved('two', { text: 'does one, two and three' })]));
    await catalog.route(ask);
    expect(read.slice(3).flat()).toContain('does one, two and three');
  });
});
