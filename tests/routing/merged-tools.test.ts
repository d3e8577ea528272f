import { describe, expect, it } from 'vitest';
import { putTools, START, tool } from '../state/entries.ts';
import { approve, merges, proposalOf, propose } from '../state/merge-entries.ts';
import { RoutedCatalog } from './routed-catalog.ts';

/** A catalog of five tools with an approved merge of `t1` and those that are named. */
function merging(members = ['t1', 't2', 't3'], more = {}): { catalog: RoutedCatalog; id: string } {
  const catalog = new RoutedCatalog(5, more);
  const proposal = proposalOf(catalog.state, members);
  catalog.story.tell(propose(proposal));
  catalog.story.tell(approve(catalog.story.state, proposal.id));
  return { catalog, id: proposal.id };
}

const names = ({ tools }: { readonly tools: readonly { readonly name: string }[] }): string[] =>
  tools.map(({ name }) => name).sort();

describe('a merged tool', () => {
  it('is one candidate, with the united definition, and the others are none', async () => {
    const { catalog, id } = merging();
    const answer = await catalog.route({ k: 50, format: 'mcp' });
    expect(names(answer)).toEqual(['t0', 't1', 't4']);
    const served = answer.tools.find(({ name }) => name === 't1')!;
    expect(served).toMatchObject({
      definitionHash: `hash of ${id}`,
      definition: { name: 't1', description: 'does t1 or t2 or t3' },
    });
    expect((await catalog.routing.find(answer.decisionId)).merged).toEqual({ t1: id });
  });

  it('is found by the words of the united definition, and tools are as they were when it is undone', async () => {
    const { catalog, id } = merging();
    const before = new RoutedCatalog(5);
    expect(names(await catalog.route({ query: 'does t3', k: 1 }))).toEqual(['t1']);
    catalog.story.tell(merges({ action: 'undo', id }));
    const [after, never] = await Promise.all([catalog.route({ k: 50 }), before.route({ k: 50 })]);
    expect(after.tools).toEqual(never.tools);
    expect((await catalog.routing.find(after.decisionId)).merged).toBeUndefined();
  });

  it('counts its united definition against a budget, and the catalog as it is for what all would cost', async () => {
    const { catalog } = merging();
    const all = await new RoutedCatalog(5).route({ k: 5, tokenBudget: 10_000, format: 'mcp' });
    const answer = await catalog.route({ k: 5, tokenBudget: 10_000, format: 'mcp' });
    expect(answer.tokens!.monolithic).toBe(all.tokens!.monolithic);
    const tokens = new Map(answer.tools.map(({ name, tokens: own }) => [name, own!]));
    expect(tokens.get('t1')! - tokens.get('t0')!).toBe(' or t2 or t3'.length);
    expect(answer.tokens!.slate).toBe([...tokens.values()].reduce((sum, one) => sum + one, 0));
  });

  it('is pinned by the name of any member, and excluded by its own alone', async () => {
    const { catalog } = merging();
    expect((await catalog.route({ k: 1, query: 'does t0', pin: ['t3', 't2'] })).tools).toMatchObject([
      { name: 't1', reason: 'pinned' },
    ]);
    expect(names(await catalog.route({ k: 50, exclude: ['t3'] }))).toContain('t1');
    expect(names(await catalog.route({ k: 50, exclude: ['t1'] }))).toEqual(['t0', 't4']);
  });

  it('is served as long as the server of any member is up', async () => {
    const { catalog } = merging();
    catalog.unavailable = ['t1', 't2'];
    expect(names(await catalog.route({ k: 50 }))).toContain('t1');
    catalog.unavailable = ['t1', 't2', 't3'];
    expect(names(await catalog.route({ k: 50 }))).not.toContain('t1');
  });

  it('takes the place of its members in the fail modes and in summaries', async () => {
    for (const failMode of ['open', 'passthrough'] as const) {
      const { catalog } = merging(undefined, { failMode });
      catalog.embedderDown = true;
      const answer = await catalog.route({ query: 'zzz', k: 50 });
      expect(answer.fallback).not.toBeNull();
      expect(names(answer)).toEqual(['t0', 't1', 't4']);
    }
  });

  it('is reranked by its united definition', async () => {
    const { catalog } = merging(undefined, { reranker: { model: 'any', budgetMs: 100 } });
    let seen: readonly string[] = [];
    catalog.rerank = async (_, documents) => {
      seen = documents;
      return { scores: documents.map((text) => (text.startsWith('t1:') ? 1 : 0)) };
    };
    const answer = await catalog.route({ k: 50, query: 'does t4' });
    expect(seen).toContain('t1: does t1 or t2 or t3');
    expect(seen).toHaveLength(3);
    expect(answer.tools[0].name).toBe('t1');
  });

  it('is discovered as one tool, by a decision from before the merge as well', async () => {
    const catalog = new RoutedCatalog(5);
    const append = async (entries: Parameters<typeof catalog.story.tell>[0][]): Promise<void> => {
      for (const entry of entries) catalog.story.tell(entry);
    };
    Object.assign(catalog.catalog, { ledger: { append } });
    const { decisionId } = await catalog.ask({ query: 'does t0', k: 1 });
    const proposal = proposalOf(catalog.state, ['t1', 't2', 't3']);
    catalog.story.tell(propose(proposal));
    catalog.story.tell(approve(catalog.story.state, proposal.id));
    const more = await catalog.routing.discover(decisionId, { k: 10 });
    expect(names(more)).toEqual(['t1', 't4']);
    const { summary } = await catalog.routing.discover(decisionId, { summary: true });
    expect(summary).toMatchObject({ tools: 3, servers: [{ tools: 3 }] });
  });

  it('does not take the place of a member that a session was served before, which goes', async () => {
    const catalog = new RoutedCatalog(5);
    const session = { sessionId: 's', tokenBudget: 10_000, k: 1, assembly: 'append' } as const;
    expect(names(await catalog.route({ ...session, query: 'does t3' }))).toEqual(['t3']);
    const proposal = proposalOf(catalog.state, ['t1', 't2', 't3']);
    catalog.story.tell(propose(proposal));
    catalog.story.tell(approve(catalog.story.state, proposal.id));
    const answer = await catalog.route({ ...session, query: 'does t0' });
    expect(names(answer)).not.toContain('t3');
    expect(answer.notes?.join()).toContain('Served before, and not any more: the tool "t3"');
  });

  it('goes back to a member that is left alone', async () => {
    const { catalog } = merging(['t1', 't2']);
    catalog.story.tell(putTools([tool('t2', { description: 'is another' })], { at: START }));
    const answer = await catalog.route({ k: 50, format: 'mcp' });
    expect(names(answer)).toEqual(['t0', 't1', 't2', 't3', 't4']);
    expect(answer.tools.find(({ name }) => name === 't1')!.definition).toMatchObject({
      description: 'does t1',
    });
  });
});
