import { describe, expect, it } from 'vitest';
import type { PastCall } from '../../src/catalog/cases.ts';
import { teachCases } from '../../src/catalog/cases.ts';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { CasesEntry } from '../../src/ledger/entry.ts';
import { providerName } from '../../src/ledger/provider-name.ts';
import { axis, putTools, remembered, START, Story, SYNCED, tool } from '../state/entries.ts';

const TOOLS = [
  tool('create_refund'),
  tool('mail.search', { server: 'mail' }),
  tool('find', { server: 'git hub' }),
  tool('a b'),
  tool('a_b'),
];

function catalogOf(story: Story): Catalog {
  const catalog = {
    state: story.state,
    embedder: { embedQueries: async (texts: readonly string[]) => texts.map(() => axis('a')) },
    embedderDown: false,
    index: { queryTerms: () => ({ terms: Uint32Array.of(97), weights: Float32Array.of(1) }) },
    now: () => START,
    replica: { submit: async (entry: CasesEntry) => story.tell(entry) },
  };
  return catalog as unknown as Catalog;
}

function shop(): Story {
  const story = Story.withTools(0);
  story.tell(putTools(TOOLS));
  const [put] = putTools([tool('tracker.find')]).put;
  const from = { source: 'issue-tracker', of: story.source('issue-tracker'), synced: SYNCED };
  story.tell(putTools([], { ...from, put: [{ ...put, nameThere: 'find' }] }));
  return story;
}

const past = (id: string, ...calls: (string | PastCall)[]) => ({
  ...{ id, query: 'give me my money back' },
  calls: calls.map((call) =>
    typeof call === 'string' ? ({ tool: call, outcome: 'success' } as const) : call,
  ),
});

describe('teachCases', () => {
  it.each([
    ['create_refund', 'create_refund'],
    [providerName('mail.search'), 'mail.search'],
    ['mcp__shop__create_refund', 'create_refund'],
    ['mcp__mail__search', 'mail.search'],
    ['mcp__git_hub__find', 'find'],
    ['mcp__other__find', null],
    ['mcp__issue-tracker__find', 'tracker.find'],
    ['Bash', null],
    ['mcp__shop__a_b', null],
  ])('knows %s as %s', async (called, name) => {
    const { tools, unknownTools } = await teachCases(catalogOf(shop()), [past('1', called)], {
      dryRun: true,
    });
    expect([tools[0]?.name ?? null, unknownTools[0]?.name]).toEqual([
      name,
      name === null ? called : undefined,
    ]);
  });

  it('teaches each case once, by the best call of each tool', async () => {
    const story = shop();
    const failed = { tool: 'create_refund', outcome: 'failure' } as const;
    const cases = [
      past('1', failed, 'create_refund', { tool: 'a b', outcome: 'refused' }),
      past('2', 'Bash'),
      past('3', { tool: 'a_b', outcome: 'timeout' }),
    ];
    const dry = await teachCases(catalogOf(story), [...cases, cases[0]], { dryRun: true });
    expect(dry).toMatchObject({ taught: 1, known: 1, nothingToTeach: 2 });
    expect(story.state.taughtCases.size).toBe(0);
    expect(await teachCases(catalogOf(story), cases, {})).toMatchObject({ taught: 1, known: 0 });
    expect(remembered(story, 'create_refund')).toEqual({ positives: 1, negatives: 0 });
    expect(await teachCases(catalogOf(story), cases, {})).toMatchObject({ taught: 0, known: 1 });
    expect(JSON.stringify(story.entries)).not.toContain('money');
  });

  it('waits for the embedding model', async () => {
    const down = { ...catalogOf(shop()), embedderDown: true } as Catalog;
    await expect(teachCases(down, [past('1', 'create_refund')], {})).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});
