import { describe, expect, it } from 'vitest';
import type { RouteAnswer } from '../../src/routing/route-answer.ts';
import type { RouteRequest } from '../../src/routing/route-request.ts';
import { instruction, putInstructions, putTools, tool } from '../state/entries.ts';
import { RoutedCatalog } from './routed-catalog.ts';

const STEP: Partial<RouteRequest> = { sessionId: 's', k: 1, tokenBudget: 1000, format: 'mcp', explore: true };
const names = ({ tools }: RouteAnswer) => tools.map(({ name }) => name);
const step = (catalog: RoutedCatalog, query: string, more: Partial<RouteRequest> = {}) =>
  catalog.route({ ...STEP, explore: false, query: `does ${query}`, ...more });

describe('what is appended in a session', () => {
  it('comes after what was served, which stays where it is, byte for byte', async () => {
    const catalog = new RoutedCatalog(6);
    const first = await step(catalog, 't1');
    expect(first).toMatchObject({ assembly: 'append', costTokens: { read: 0 } });
    const second = await step(catalog, 't2');
    const third = await step(catalog, 't3');
    expect([first, second, third].map(names)).toEqual([['t1'], ['t1', 't2'], ['t1', 't2', 't3']]);
    expect(JSON.stringify(third.tools.slice(0, 2).map(({ definition }) => definition))).toBe(
      JSON.stringify(second.tools.map(({ definition }) => definition)),
    );
    expect(third.tools.map(({ reason, propensity }) => [reason, propensity])).toEqual([
      ['carried', 1],
      ['carried', 1],
      ['retrieved', 1],
    ]);
    const [a, b, c] = third.tools.map(({ tokens }) => tokens!);
    expect(third.tokens).toMatchObject({ slate: a + b + c, total: a + b + c });
    expect(third.costTokens).toEqual({ read: a + b, written: c, full: 1.25 * c + 0.1 * (a + b) });
  });

  it('is nothing where what was served is still best', async () => {
    const catalog = new RoutedCatalog(6);
    await step(catalog, 't1');
    expect(names(await step(catalog, 't1'))).toEqual(['t1']);
    expect(names(await step(catalog, 't2'))).toEqual(['t1', 't2']);
    expect(names(await step(catalog, 't1'))).toEqual(['t1', 't2']);
  });

  it('is worth its tokens: what a step hardly needs is not added, nor logged as if it had been drawn', async () => {
    const catalog = new RoutedCatalog(6);
    const long = Array.from({ length: 60 }, (_, word) => `w${word}`).join(' ');
    const wordy = (name: string) => tool(name, { description: `does ${name} ${long}` });
    catalog.story.tell(putTools(['t0', 't1', 't2', 't3', 't4', 't5'].map(wordy)));
    catalog.story.tell(
      putInstructions(
        ['t1', 't2', 't3', 't4', 't5'].map((id) =>
          instruction(id, { status: 'approved', text: `does ${id} ${long}` }),
        ),
      ),
    );
    const asked = { k: 3, instructions: true, maxInstructions: 3, tokenBudget: 5000 };
    const ids = ({ instructions = [] }: RouteAnswer) => instructions.map(({ id }) => id);
    const first = await step(catalog, 't1', { ...asked, k: 1, maxInstructions: 1 });
    expect([names(first), ids(first)]).toEqual([['t1'], ['t1']]);
    const alone = await step(catalog, 't2', { ...asked, sessionId: 'other' });
    for (const explore of [false, true]) {
      const second = await step(catalog, 't2', { ...asked, explore });
      const { budget, candidates, columns, slate, instructions } = await catalog.routing.find(
        second.decisionId,
      );
      const added = second.tools.filter(({ reason }) => reason !== 'carried');
      expect(added.length).toBeLessThan(alone.tools.length);
      if (!explore) {
        expect([added.map(({ name }) => name), ids(second).slice(1)]).toEqual([['t2'], ['t2']]);
        expect(budget!.leftOut.length).toBeGreaterThan(0);
        const shown = candidates.map((_, index) => Number(slate.includes(index)));
        expect([...columns.propensity]).toEqual(shown);
        expect(instructions!.propensity).toEqual(
          instructions!.ids.map((_, index) => Number(instructions!.shown.includes(index))),
        );
      }
    }
  });

  it('is kept apart by session, task, user and format; a request without a budget takes no part', async () => {
    const catalog = new RoutedCatalog(6);
    await step(catalog, 't1');
    const others = [
      { sessionId: 'other' },
      { userId: 'anna' },
      { format: 'openai' },
      { sessionId: undefined, task: 's' },
      { assembly: 'parts' },
      { assembly: 'prompt' },
    ] as const;
    for (const other of others) {
      expect(names(await step(catalog, 't2', other as Partial<RouteRequest>))).toEqual(['t2']);
    }
    const plain = await step(catalog, 't3', { tokenBudget: undefined } as Partial<RouteRequest>);
    expect(names(plain)).toEqual(['t3']);
    expect(plain).not.toHaveProperty('costTokens');
    expect(names(await step(catalog, 't4'))).toEqual(['t1', 't4']);
  });

  it('has what both of two steps served that were asked for at once', async () => {
    const catalog = new RoutedCatalog(6);
    await step(catalog, 't0');
    await Promise.all([step(catalog, 't1'), step(catalog, 't2')]);
    const after = names(await step(catalog, 't3'));
    expect(after[0]).toBe('t0');
    expect(new Set(after)).toEqual(new Set(['t0', 't1', 't2', 't3']));
    expect(names(await step(catalog, 't4'))).toEqual([...after, 't4']);
  });

  const discovering = (): RoutedCatalog => {
    const catalog = new RoutedCatalog(9);
    Object.assign(catalog.catalog, { ledger: { append: async () => {} } });
    return catalog;
  };

  it('has what was discovered in a step that another one had gone on with, after all else, once', async () => {
    const catalog = discovering();
    const { decisionId: d1 } = await step(catalog, 't1');
    const second = await step(catalog, 't2');
    const { tools: more } = await catalog.routing.discover(d1, { k: 2 });
    const added = more.map(({ name }) => name).filter((name) => name !== 't2');
    expect(added.length).toBeGreaterThan(0);
    const third = await step(catalog, 't2');
    expect(names(third)).toEqual([...names(second), ...added]);
    const grown = (await catalog.routing.find(third.decisionId)).carried!;
    expect(new Map(grown.from.map((id, i) => [id, grown.discoveries[i]]))).toEqual(
      new Map([
        [d1, 1],
        [second.decisionId, 0],
      ]),
    );
    const { carried } = await catalog.routing.find((await step(catalog, 't2')).decisionId);
    expect(carried).toMatchObject({ from: [third.decisionId], discoveries: [0], tools: third.tools.length });
  });

  it('has what was discovered at once in two steps that were asked for at once', async () => {
    const catalog = discovering();
    const pair = await Promise.all([step(catalog, 't1'), step(catalog, 't2')]);
    const after = names(await step(catalog, 't3'));
    const found = await Promise.all(
      pair.map(({ decisionId }) => catalog.routing.discover(decisionId, { k: 3 })),
    );
    const added = found.flatMap(({ tools }) => tools.map(({ name }) => name));
    for (let again = 0; again < 2; again++) {
      const both = names(await step(catalog, 't3'));
      expect(both.slice(0, after.length)).toEqual(after);
      expect(new Set(both)).toEqual(new Set([...after, ...added]));
    }
  });

  it('has what many steps served that were asked for at once, and says so where they were too many', async () => {
    const catalog = new RoutedCatalog(80);
    const steps = (from: number, to: number) =>
      Promise.all(
        Array.from({ length: to - from }, (_, n) => step(catalog, `t${from + n}`, { tokenBudget: 90_000 })),
      );
    await steps(0, 8);
    const after = await step(catalog, 't8', { tokenBudget: 90_000 });
    expect(new Set(names(after))).toEqual(new Set(Array.from({ length: 9 }, (_, n) => `t${n}`)));
    expect(after).not.toHaveProperty('notes');
    await steps(9, 79);
    const { notes } = await step(catalog, 't79', { tokenBudget: 90_000 });
    expect(notes?.[0]).toMatch(/^More than 64 steps .* were asked for at once/);
  });

  it('is told what became of tools that were removed, are down, are excluded or were changed', async () => {
    const catalog = new RoutedCatalog(6);
    for (const name of ['t0', 't1', 't2', 't3']) await step(catalog, name);
    catalog.unavailable = ['t1'];
    const less = await step(catalog, 't3', { exclude: ['t2'] });
    expect(names(less)).toEqual(['t0', 't3']);
    expect(less.notes?.filter((note) => note.startsWith('Served before, and not any more'))).toHaveLength(2);
    catalog.unavailable = [];
    const back = await step(catalog, 't1');
    expect(names(back)).toEqual(['t0', 't3', 't1']);
    expect(back).not.toHaveProperty('notes');
    catalog.story.tell(putTools([tool('t0', { description: 'another' })], { remove: ['t3'] }));
    const changed = await step(catalog, 't1');
    expect(names(changed)).toEqual(['t0', 't1']);
    expect(changed.tools[0]).toMatchObject({ changed: true, definition: { description: 'another' } });
    expect(changed.notes?.join()).toMatch(
      /the tool "t3", which was removed.*Changed since it was served: "t0"/,
    );
    // What is in no cache any more is written again.
    expect(changed.costTokens).toMatchObject({ read: 0, written: changed.tokens?.total });
  });

  it('is bounded together with what is there, and waits where what fits the step best is there', async () => {
    const catalog = new RoutedCatalog(6);
    const { tokens } = await step(catalog, 't1');
    const full = await step(catalog, 't1', { k: 2, tokenBudget: tokens!.total + 1 });
    expect(names(full)).toEqual(['t1']);
    expect(full.leftOut?.tools).toHaveLength(1);
    expect(full).not.toHaveProperty('restarted');
  });

  it('keeps the detail in which each tool was served, and gives only what is new to the middle of a conversation', async () => {
    const catalog = new RoutedCatalog(6);
    const format = 'anthropic-tool-addition';
    await step(catalog, 't1', { format, detail: 'names' });
    const second = await step(catalog, 't2', { format, detail: 'full' });
    const described = second.tools.map(({ definition }) =>
      JSON.stringify(definition).includes('description'),
    );
    expect(described).toEqual([false, true]);
    expect(second.definitions).toEqual({ role: 'system', content: [second.tools[1].definition] });
  });

  it('has instructions in the order in which they came, after the overlay', async () => {
    const catalog = new RoutedCatalog(6);
    const of = (id: string, more = {}) =>
      instruction(id, { status: 'approved', text: `does ${id}`, ...more });
    catalog.story.tell(
      putInstructions([of('t1', { priority: 1 }), of('t2', { priority: 90 }), of('s', { kind: 'safety' })]),
    );
    const ask = { instructions: true, maxInstructions: 1 };
    const first = await step(catalog, 't1', ask);
    expect(first.instructions?.map(({ id }) => id)).toEqual(['s', 't1']);
    const second = await step(catalog, 't2', ask);
    expect(second.instructions).toMatchObject([
      { id: 's', gain: 0, carried: true },
      { id: 't1', carried: true },
      { id: 't2' },
    ]);
    const parts = await step(catalog, 't1 and t2', { ...ask, maxInstructions: 2, assembly: 'parts' });
    expect(parts.instructions?.map(({ id }) => id)).toEqual(['s', 't2', 't1']);
  });

  it('has a safety instruction that is new, with what it includes, after what was carried, and marks what was changed or removed', async () => {
    const catalog = new RoutedCatalog(3);
    const of = (id: string, more = {}) =>
      instruction(id, { status: 'approved', text: `does ${id}`, ...more });
    const ask = { instructions: true, maxInstructions: 1, format: 'anthropic-tool-addition' } as const;
    const marks = ({ instructions = [] }: RouteAnswer) =>
      instructions.map(
        ({ id, carried, changed }) => `${id}${carried ? ' carried' : ''}${changed ? ' changed' : ''}`,
      );
    catalog.story.tell(putInstructions([of('s', { kind: 'safety' }), of('t1')]));
    expect(marks(await step(catalog, 't1', ask))).toEqual(['s', 't1']);

    catalog.story.tell(
      putInstructions([of('a', { kind: 'safety', priority: 99, includes: ['z'] }), of('z')]),
    );
    const added = await step(catalog, 't1', ask);
    expect(marks(added)).toEqual(['s carried', 't1 carried', 'a', 'z']);
    expect(added.notes?.join()).toMatch(/New in this session or task: the safety instruction "a".*"z"/);
    const [s, t1, a, z] = added.instructions!.map(({ tokens }) => tokens);
    const [tool1] = added.tools.map(({ tokens }) => tokens!);
    expect(added.costTokens).toMatchObject({ written: a + z, read: tool1 + s + t1 });
    const { budget } = await catalog.routing.explain(added.decisionId);
    expect(budget?.carried).toMatchObject({ instructions: ['s', 't1'], read: tool1 + s + t1 });

    const all = ['s carried', 't1 carried', 'a carried', 'z carried'];
    const same = await step(catalog, 't1', ask);
    expect(marks(same)).toEqual(all);
    expect(same).not.toHaveProperty('notes');
    expect(same.costTokens).toMatchObject({ written: 0 });

    catalog.story.tell(
      putInstructions([of('s', { kind: 'safety', text: 'other' }), of('t1', { text: 'does t1!' })]),
    );
    const changed = await step(catalog, 't1', ask);
    expect(marks(changed)).toEqual(['s carried changed', 't1 carried changed', 'a carried', 'z carried']);
    expect(changed.tools[0]).not.toHaveProperty('changed');
    expect(changed.notes).toHaveLength(2);
    expect(changed.costTokens).toMatchObject({ written: 'other'.length + 'does t1!'.length });
    expect(marks(await step(catalog, 't1', ask))).toEqual(all);

    catalog.story.tell(putInstructions([], { remove: ['s'] }));
    const less = await step(catalog, 't1', ask);
    expect(marks(less)).toEqual(all.slice(1));
    expect(less.notes?.join()).toContain('not any more: the instruction "s"');
    const parts = await step(catalog, 't1', { ...ask, assembly: 'parts' });
    expect(marks(parts)).toEqual(['a', 'z', 't1']);
  });

  it.each([
    ['mcp', true],
    ['openai', true],
    ['openai-responses', true],
    ['anthropic', true],
    ['names', true],
    ['anthropic-tool-addition', false],
    ['anthropic-tool-reference', false],
    ['openai-tool-search-output', false],
  ] as const)(
    'reads no instructions from a cache as %s once a tool before them is new: %s',
    async (format, isFirst) => {
      const catalog = new RoutedCatalog(4);
      catalog.story.tell(putInstructions([instruction('s', { status: 'approved', kind: 'safety' })]));
      const ask = { instructions: true, format } as const;
      await step(catalog, 't1', ask);
      const second = await step(catalog, 't2', ask);
      const [t1, t2] = second.tools.map(({ tokens }) => tokens!);
      const [s] = second.instructions!.map(({ tokens }) => tokens);
      const added = isFirst ? { read: t1, written: t2 + s } : { read: t1 + s, written: t2 };
      expect(second.costTokens).toMatchObject(added);
      expect((await step(catalog, 't2', ask)).costTokens).toMatchObject({ read: t1 + t2 + s, written: 0 });
      catalog.story.tell(putTools([], { remove: ['t1'] }));
      const less = (await step(catalog, 't2', ask)).costTokens;
      expect(less).toMatchObject(isFirst ? { read: 0, written: t2 + s } : { read: t2 + s, written: 0 });
    },
  );
});

describe('a prompt', () => {
  it('is the same text for the same request, holds the budget, and has the overlay first', async () => {
    const catalog = new RoutedCatalog(6);
    catalog.story.tell(
      putInstructions([
        instruction('s', { status: 'approved', kind: 'safety', text: 'Never promise a refund.' }),
        instruction('draft', { text: 'does t1', status: 'draft' }),
      ]),
    );
    const ask = { assembly: 'prompt', tokenBudget: 400, k: 3 } as const;
    const first = await step(catalog, 't1', ask);
    expect(first.prompt).toMatch(
      /^<always>\n\nNever promise a refund\.\n\n<\/always>\n\n<tools>\n\n\{"name":"t1"/,
    );
    expect(first.prompt?.length).toBe(first.tokens?.total);
    expect(first.tokens?.total).toBeLessThanOrEqual(400);
    expect(first.costTokens).toEqual({ written: first.tokens?.total, read: 0, full: first.tokens?.total });
    expect((await step(catalog, 't1', ask)).prompt).toBe(first.prompt);
    await expect(step(catalog, 't1', { ...ask, tokenBudget: 20 })).rejects.toThrow(
      /has to be served takes \d+ tokens/,
    );
  });
});

describe('the frame of a prompt', () => {
  it('is that of the parts that fit: no budget is refused that holds what is always served, and none is broken', async () => {
    const catalog = new RoutedCatalog(6);
    catalog.story.tell(
      putInstructions([
        instruction('s', { status: 'approved', kind: 'safety', text: 'Never promise a refund.' }),
        ...['t1', 't2'].map((id) => instruction(id, { status: 'approved', text: `does ${id}` })),
      ]),
    );
    const ask = { assembly: 'prompt', instructions: true, k: 50, maxInstructions: 50 } as const;
    const refused = await step(catalog, 't1', { ...ask, tokenBudget: 1 }).catch((error) => error);
    const needed = Number(/at least (\d+)/.exec(refused.suggestedFix)![1]);
    expect(needed).toBeLessThanOrEqual('<always>\n\nNever promise a refund.\n\n</always>'.length + 2);
    expect(refused.suggestedFix).toContain('assembly: "parts"');
    expect(refused.suggestedFix).not.toContain('pin');
    let most = 0;
    for (let tokenBudget = needed; tokenBudget < 900; tokenBudget += 7) {
      const { tokens, tools } = await step(catalog, 't1', { ...ask, tokenBudget });
      expect(tokens!.total).toBeLessThanOrEqual(tokenBudget);
      most = Math.max(most, tools.length);
    }
    expect(most).toBeGreaterThan(1);
    const parts = { ...ask, assembly: 'parts', tokenBudget: 1, pin: ['t1'] } as const;
    const other = await step(catalog, 't1', parts).catch((error) => error);
    expect(other.suggestedFix).toMatch(/, or pin fewer tools\.$/);
  });
});

describe('documents of tools', () => {
  const documented = () => {
    const catalog = new RoutedCatalog(6);
    const preconditions = ['The order is paid.'];
    catalog.story.tell(
      putTools([
        tool('t1', {
          preconditions,
          negativeExamples: ['no'],
          failureModes: ['late: wait a minute, then call again'],
        }),
        tool('t2', { preconditions }),
      ]),
    );
    return catalog;
  };
  const ask = { assembly: 'parts', k: 1 } as const;

  it('are members of the tools in parts, as far as the budget allows, and counted', async () => {
    const catalog = documented();
    const rich = await step(catalog, 't1', { ...ask, tokenBudget: 200 });
    expect(rich.tools[0].document).toBe(
      'Before: The order is paid.\nFailure: late: wait a minute, then call again\nNot for: "no"',
    );
    const documents = rich.tools[0].document!.length;
    const { slate } = rich.tokens!;
    expect(rich.tokens).toMatchObject({ documents, total: slate + documents });
    expect((await catalog.routing.explain(rich.decisionId)).budget?.tokens).toEqual(rich.tokens);
    const short = await step(catalog, 't1', { ...ask, tokenBudget: slate + documents - 1 });
    expect(short.tools[0].document).toBe(
      'Before: The order is paid.\nFailure: late: wait a minute, then call again',
    );
    const least = await step(catalog, 't1', { ...ask, tokenBudget: slate + documents - 20 });
    expect(least.tools[0].document).toBe('Before: The order is paid.\nNot for: "no"');
    expect((await step(catalog, 't1', { ...ask, tokenBudget: slate })).tools[0].document).toBeUndefined();
    for (let tokenBudget = slate; tokenBudget < slate + documents + 3; tokenBudget++) {
      const answer = await step(catalog, 't1', { ...ask, tokenBudget });
      expect(answer.tokens!.total).toBeLessThanOrEqual(tokenBudget);
      const again = await step(catalog, 't1', { ...ask, tokenBudget });
      expect(again.tools[0].document).toBe(answer.tools[0].document);
    }
  });

  it('stand in a prompt, and are told when the decision is explained', async () => {
    const catalog = documented();
    const { prompt, tokens, tools, decisionId } = await step(catalog, 't1', {
      ...ask,
      assembly: 'prompt',
      tokenBudget: 900,
    });
    expect(prompt).toContain('\nBefore: The order is paid.\nFailure: late');
    expect(tokens!.total).toBe(prompt!.length);
    expect(tools[0].document).toBeUndefined();
    expect((await catalog.routing.explain(decisionId)).budget?.tokens.documents).toBe(tokens!.documents);
    expect(tokens!.documents).toBeGreaterThan(0);
  });

  it('are in no answer that counts no tokens, and in none of a session', async () => {
    const catalog = documented();
    expect((await catalog.route({ query: 't1', format: 'mcp' })).tools[0]).not.toHaveProperty('document');
    const append = await step(catalog, 't1', { tokenBudget: 900 });
    expect(append.tokens).toMatchObject({ documents: 0, total: append.tokens!.slate });
    expect(append.tools[0]).not.toHaveProperty('document');
  });
});

describe('a tool whose whole definition fits into no part of the budget', () => {
  it('is left out with what it would take at detail brief', async () => {
    const catalog = new RoutedCatalog(6);
    const more = { description: `Does t1. ${'And so on. '.repeat(40)}` };
    catalog.story.tell(
      putTools([tool('t1', more), tool('t2', { description: more.description.slice(0, 199) })]),
    );
    const { leftOut } = await step(catalog, 't1', { assembly: 'parts', k: 1, tokenBudget: 300 });
    const [left] = leftOut!.tools;
    expect(left.name).toBe('t1');
    expect(left.tokens).toBeGreaterThan(300);
    expect(left.brief).toBeLessThanOrEqual(300);
    const brief = await step(catalog, 't1', { assembly: 'parts', k: 1, tokenBudget: 300, detail: 'brief' });
    expect(brief.tools[0]).toMatchObject({ name: 't1', tokens: left.brief });
    const tiny = await step(catalog, 't1', { assembly: 'parts', k: 1, tokenBudget: 20 });
    expect(tiny.leftOut!.tools[0]).not.toHaveProperty('brief');
  });
});
