import { describe, expect, it } from 'vitest';
import type { RouteRequest } from '../../src/routing/route-request.ts';
import { instruction, putInstructions, putTools, tool } from '../state/entries.ts';
import { RoutedCatalog } from './routed-catalog.ts';

const DRAFT = `does t1 ${'UNAPPROVED '.repeat(300)}`;
const KINDS = ['policy', 'safety'] as const;
const ASSEMBLIES = ['prompt', 'parts', 'append'] as const;

const put = (catalog: RoutedCatalog, id: string, more: object) =>
  catalog.story.tell(putInstructions([instruction(id, { kind: 'policy', status: 'approved', ...more })]));
const remove = (catalog: RoutedCatalog, id: string) =>
  catalog.story.tell(putInstructions([], { remove: [id] }));

const WAYS: Readonly<Record<string, (catalog: RoutedCatalog, kind: 'policy' | 'safety') => void>> = {
  'was withdrawn and edited': (catalog, kind) => {
    put(catalog, 'x', { kind, status: 'draft', text: 'does t1, approved' });
    put(catalog, 'x', { kind, status: 'draft', text: DRAFT });
  },
  'was removed, and is a draft again': (catalog, kind) => {
    remove(catalog, 'x');
    put(catalog, 'x', { kind, status: 'draft', text: DRAFT });
  },
  'was withdrawn': (catalog, kind) => put(catalog, 'x', { kind, status: 'draft', text: 'does t1, approved' }),
  'was removed': (catalog) => remove(catalog, 'x'),
};

describe('a request that is sent again with its key', () => {
  const cases = Object.keys(WAYS).flatMap((way) =>
    KINDS.flatMap((kind) => ASSEMBLIES.map((assembly) => [way, kind, assembly] as const)),
  );

  it.each(cases)('has no text of an instruction that %s (%s, %s)', async (way, kind, assembly) => {
    const catalog = new RoutedCatalog(3);
    put(catalog, 'x', { kind, text: 'does t1, approved' });
    put(catalog, 'y', { text: 'does t1, too' });
    const ask: Partial<RouteRequest> = {
      ...{ query: 'does t1', format: 'mcp', assembly, instructions: true, tokenBudget: 900 },
      ...(assembly === 'append' && { sessionId: 's' }),
    };
    if (assembly === 'append') await catalog.route(ask);
    const first = await catalog.route(ask, { idempotencyKey: 'k' });
    expect(first.instructions?.map(({ id }) => id)).toContain('x');
    expect((await catalog.route(ask, { idempotencyKey: 'k' })).tokens).toEqual(first.tokens);
    WAYS[way](catalog, kind);
    const again = await catalog.route(ask, { idempotencyKey: 'k' });
    expect(again.decisionId).toBe(first.decisionId);
    expect(again.instructions?.map(({ id }) => id)).toEqual(['y']);
    expect(JSON.stringify(again)).not.toContain('UNAPPROVED');
    expect(again.notes?.join()).toMatch(/Not served again: the instruction "x"/);
    expect(again.tokens!.total).toBeLessThan(first.tokens!.total);
    expect(again.tokens!.instructions).toBe(again.instructions![0].tokens);
    expect(again.costTokens!.written + again.costTokens!.read).toBe(again.tokens!.total);
  });

  it('has a safety instruction as it is approved now, if the budget has room for it', async () => {
    const catalog = new RoutedCatalog(3);
    put(catalog, 'x', { kind: 'safety', text: 'Never promise.' });
    for (const assembly of ASSEMBLIES) {
      const ask: Partial<RouteRequest> = {
        ...{
          query: 'does t1',
          format: 'mcp',
          assembly,
          instructions: true,
          tokenBudget: 400,
          sessionId: 's',
        },
      };
      const idempotencyKey = assembly;
      await catalog.route(ask, { idempotencyKey });
      put(catalog, 'x', { kind: 'safety', text: 'Never promise anything.' });
      const again = await catalog.route(ask, { idempotencyKey });
      expect(again.instructions).toMatchObject([{ text: 'Never promise anything.', kind: 'safety' }]);
      expect(again.tokens).toMatchObject({ instructions: 'Never promise anything.'.length });
      expect(again.notes?.join()).toContain('Changed since: "x"');
      put(catalog, 'x', { kind: 'safety', text: 'Never promise. '.repeat(40) });
      const dear = await catalog.route(ask, { idempotencyKey });
      expect(dear.instructions).toEqual([]);
      expect(dear.tokens!.total).toBeLessThanOrEqual(400);
      put(catalog, 'x', { kind: 'safety', text: 'Never promise.' });
    }
  });
});

describe('the tools of a request that is sent again with its key', () => {
  const grown = (name: string, words: number) =>
    putTools([tool(name, { description: `does ${name} ${'and more '.repeat(words)}` })]);

  it.each(['prompt', 'parts'] as const)(
    'keep within the budget when their definitions grew (%s)',
    async (assembly) => {
      const catalog = new RoutedCatalog(3);
      const free = {
        query: 'does t1',
        format: 'mcp',
        detail: 'full',
        k: 3,
        assembly,
        explore: false,
      } as const;
      const { tokens } = await catalog.route({ ...free, tokenBudget: 5000 });
      const ask = { ...free, tokenBudget: tokens!.total + 60 };
      const options = { idempotencyKey: assembly };
      const first = await catalog.route(ask, options);
      const names = first.tools.map(({ name }) => name);
      catalog.story.tell(grown(names[0], 1));
      const slightly = await catalog.route(ask, options);
      expect(slightly.tools.map(({ name }) => name)).toEqual(names);
      expect(slightly.tokens!.slate).toBeGreaterThan(first.tokens!.slate);
      catalog.story.tell(grown(names[0], 100));
      const again = await catalog.route(ask, options);
      expect(again.decisionId).toBe(first.decisionId);
      expect(again.tools.map(({ name }) => name)).toEqual(names.slice(1));
      expect(again.tokens!.total).toBeLessThanOrEqual(ask.tokenBudget);
      expect(again.notes?.join()).toContain(`Not served again: the tool "${names[0]}"`);
      if (assembly === 'prompt') expect(again.prompt!.length).toBeLessThanOrEqual(ask.tokenBudget);
    },
  );
});
