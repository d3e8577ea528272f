import { describe, expect, it } from 'vitest';
import type { Entry } from '../../src/ledger/entry.ts';
import type { RouteAnswer } from '../../src/routing/route-answer.ts';
import type { RouteRequest } from '../../src/routing/route-request.ts';
import { instruction, putInstructions, putTools, tool } from '../state/entries.ts';
import { RoutedCatalog } from './routed-catalog.ts';

const names = ({ tools }: RouteAnswer) => tools.map(({ name }) => name);
const step = (catalog: RoutedCatalog, query: string, more: Partial<RouteRequest> = {}) =>
  catalog.route({
    ...{ sessionId: 's', k: 1, tokenBudget: 1000, format: 'mcp', explore: false, query: `does ${query}` },
    ...more,
  });

function sessions(tools = 8): RoutedCatalog {
  const catalog = new RoutedCatalog(tools);
  const append = async (entries: readonly Entry[]): Promise<void> => {
    for (const entry of entries) catalog.story.tell(entry);
  };
  Object.assign(catalog.catalog, { ledger: { append } });
  return catalog;
}

/** What it answers replaces the whole prompt: nothing is read from a cache, and the next step goes on with it alone. */
function expectRestart(answer: RouteAnswer, tokenBudget: number): void {
  expect(answer.restarted).toBe(true);
  expect(answer.notes?.join()).toMatch(/the prompt starts anew/);
  const { tokens, costTokens, tools, instructions = [] } = answer;
  expect(tokens!.total).toBeLessThanOrEqual(tokenBudget);
  expect(costTokens).toMatchObject({ written: tokens!.total, read: 0 });
  expect(tools.some(({ changed }) => changed)).toBe(false);
  expect(instructions.some(({ carried }) => carried)).toBe(false);
}

describe('a session whose prompt leaves no room starts it anew', () => {
  it('where a discovery named more than the budget had left', async () => {
    const catalog = sessions();
    const { decisionId, tokens } = await step(catalog, 't1');
    const one = tokens!.slate;
    const tokenBudget = 4 * one;
    const within = await step(catalog, 't1', { tokenBudget });
    await catalog.routing.discover(within.decisionId, { k: 6, tokenBudget: 10 * one });
    const next = await step(catalog, 't1', { tokenBudget });
    expectRestart(next, tokenBudget);
    expect(names(next)).toContain('t1');
    expect(next.tools.filter(({ reason }) => reason === 'carried')).toHaveLength(2);
    const after = await step(catalog, 't1', { tokenBudget });
    expect(names(after)).toEqual(names(next));
    expect(after).not.toHaveProperty('restarted');
    expect(after.costTokens).toMatchObject({ written: 0 });
    expect((await catalog.routing.explain(next.decisionId)).budget).toMatchObject({
      carried: { tools: 0, restarted: true },
      costTokens: { read: 0 },
    });
    expect(decisionId).not.toBe(within.decisionId);
  });

  it('where a step names a smaller budget, with the newest tools that half of it holds', async () => {
    const catalog = sessions();
    for (const name of ['t0', 't1', 't2', 't3']) await step(catalog, name);
    const { tokens } = await step(catalog, 't3');
    const tokenBudget = tokens!.total - 1;
    const less = await step(catalog, 't3', { tokenBudget });
    expectRestart(less, tokenBudget);
    expect(names(less)).toEqual(['t3']);
    const more = await step(catalog, 't4', { tokenBudget });
    expect(names(more)).toEqual(['t3', 't4']);
  });

  it('with fewer of the newest tools, where what has to be served beside half of the budget is more than the other half', async () => {
    const catalog = sessions(12);
    const long = `does p ${'and more '.repeat(41)}`;
    catalog.story.tell(putTools([tool('p', { description: long })]));
    for (let at = 0; at < 8; at++) await step(catalog, `t${at}`);
    const { tokens } = await step(catalog, 't7');
    const large = (await step(catalog, 'p', { sessionId: 'other' })).tokens!.slate;
    const tokenBudget = tokens!.total - 1;
    expect(large).toBeGreaterThan((tokenBudget * 5) / 8);
    expect(large).toBeLessThan((tokenBudget * 3) / 4);
    const next = await step(catalog, 't7', { tokenBudget, pin: ['p'] });
    expectRestart(next, tokenBudget);
    const kept = next.tools.filter(({ reason }) => reason === 'carried').map(({ name }) => name);
    expect(kept).toEqual(['t7']);
  });

  it('with older tools, where the newest one is larger than half of the budget', async () => {
    const catalog = sessions();
    const long = `does t2 ${'and more '.repeat(30)}`;
    catalog.story.tell(putTools([tool('t2', { description: long })]));
    for (const name of ['t0', 't1', 't2']) await step(catalog, name, { tokenBudget: 2000 });
    const { tokens, tools } = await step(catalog, 't2', { tokenBudget: 2000 });
    const large = tools.find(({ name }) => name === 't2')!.tokens!;
    expect(large).toBeGreaterThan(tokens!.total / 2);
    const tokenBudget = tokens!.total - 1;
    const next = await step(catalog, 't3', { tokenBudget });
    expectRestart(next, tokenBudget);
    expect(names(next)).toEqual(['t0', 't1', 't3']);
  });

  it('where a definition or an instruction grew', async () => {
    const catalog = sessions();
    const approved = (text: string) => instruction('i1', { status: 'approved', text });
    catalog.story.tell(putInstructions([approved('does t1')]));
    const ask = { instructions: true, tokenBudget: 200 };
    const first = await step(catalog, 't1', ask);
    expect(first.instructions).toHaveLength(1);
    catalog.story.tell(putInstructions([approved(`does t1 ${'and more '.repeat(40)}`)]));
    const second = await step(catalog, 't1', ask);
    expectRestart(second, 200);
    expect(names(second)).toEqual(['t1']);
    expect(second.instructions).toEqual([]);
    catalog.story.tell(putTools([tool('t1', { description: `does t1 ${'and more '.repeat(40)}` })]));
    const third = await step(catalog, 't1', ask);
    expectRestart(third, 200);
    expect(names(third)).not.toContain('t1');
  });

  it('where the safety overlay grew; that and pins alone can be too much', async () => {
    const catalog = sessions();
    const { tokens } = await step(catalog, 't1', { instructions: true });
    const overlay = instruction('safe', { status: 'approved', kind: 'safety', text: 'x'.repeat(50) });
    catalog.story.tell(putInstructions([overlay]));
    const tokenBudget = tokens!.total + 10;
    const ask = { instructions: true, tokenBudget };
    const next = await step(catalog, 't1', ask);
    expectRestart(next, tokenBudget);
    expect(next.tools).toEqual([]);
    expect(next.instructions?.map(({ id }) => id)).toEqual(['safe']);
    await expect(step(catalog, 't1', { ...ask, tokenBudget: 49 })).rejects.toMatchObject({
      ...{ code: 'budget-too-small', violations: [{ message: 'must be at least 50' }] },
    });
    await expect(step(catalog, 't1', { ...ask, pin: ['t1'] })).rejects.toMatchObject({
      code: 'budget-too-small',
    });
  });

  it('where steps that were asked for at once served too much together', async () => {
    const catalog = sessions();
    const { tokens } = await step(catalog, 't0', { sessionId: 'other' });
    const tokenBudget = Math.floor(2.5 * tokens!.slate);
    await step(catalog, 't0', { tokenBudget });
    await Promise.all([step(catalog, 't1', { tokenBudget }), step(catalog, 't2', { tokenBudget })]);
    const next = await step(catalog, 't2', { tokenBudget });
    expectRestart(next, tokenBudget);
    expect(names(next)).toContain('t2');
  });

  it('where the tool that fits the step best has no room beside what is there', async () => {
    const catalog = sessions();
    const { tokens } = await step(catalog, 't1', { sessionId: 'other' });
    const tokenBudget = 3 * tokens!.slate;
    const served: string[][] = [];
    for (let at = 0; at < 8; at++) {
      const answer = await step(catalog, `t${at}`, { tokenBudget });
      if (answer.restarted) expectRestart(answer, tokenBudget);
      served.push(names(answer));
      expect(names(answer)).toContain(`t${at}`);
    }
    // The newest is kept, so that every second step begins anew.
    expect(served.slice(2, 6)).toEqual([
      ['t0', 't1', 't2'],
      ['t2', 't3'],
      ['t2', 't3', 't4'],
      ['t4', 't5'],
    ]);
  });
});

describe('a discovery in a session', () => {
  it('keeps within what its budget has left, unless it names another one', async () => {
    const catalog = sessions();
    const { tokens } = await step(catalog, 't1', { sessionId: 'other' });
    const one = tokens!.slate;
    const { decisionId } = await step(catalog, 't1', { tokenBudget: 3 * one });
    const first = await catalog.routing.discover(decisionId, { k: 5 });
    expect(first.tools).toHaveLength(2);
    const second = await catalog.routing.discover(decisionId, {});
    expect(second).toMatchObject({ tools: [], summary: { tools: 8 } });
    expect(second.notes?.[0]).toContain('fits into the 0 tokens');
    const third = await catalog.routing.discover(decisionId, { k: 1, tokenBudget: one });
    expect(third.tools).toHaveLength(1);
    const apart = await step(catalog, 't1', { tokenBudget: 3 * one, assembly: 'parts' });
    expect((await catalog.routing.discover(apart.decisionId, { k: 5 })).tools).toHaveLength(2);
    const { budget } = await catalog.routing.explain(apart.decisionId);
    expect(budget).toMatchObject({ tokens: apart.tokens, costTokens: apart.costTokens, discovered: 2 * one });
  });

  it('has its definitions in the shape that those of the steps have', async () => {
    const catalog = sessions();
    catalog.story.tell(putTools([0, 2, 3].map((n) => tool(`t${n}`, { server: 'crm' }))));
    const { decisionId } = await step(catalog, 't1', { format: 'openai-responses' });
    const { definitions } = await catalog.routing.discover(decisionId, { k: 8, tokenBudget: 9_000 });
    expect((definitions as { type: string }[]).every(({ type }) => type === 'function')).toBe(true);
  });
});
