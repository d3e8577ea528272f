import { describe, expect, it } from 'vitest';
import { toFixedPoint } from '../../src/models/fixed-point.ts';
import { putTools } from '../state/entries.ts';
import { RoutedCatalog } from './routed-catalog.ts';

const decisionOf = async (catalog: RoutedCatalog, id: string) =>
  (await (await catalog.decisionLogs.open('default')).get(id))!;

/** What a decision says of the candidates, without its id. */
async function route(catalog: RoutedCatalog, more: Parameters<RoutedCatalog['route']>[0] = {}) {
  const { decisionId } = await catalog.route(more);
  const { candidates, columns, query, slate, notes, learn } = await decisionOf(catalog, decisionId);
  return { candidates, columns, query, slate, notes, learn };
}

it('The vector of a decision is the one of the embedder, rounded to a fixed point', async () => {
  const catalog = new RoutedCatalog(3);
  const embedding = Float32Array.of(0.1, 0.2, 0.3, 0.9);
  catalog.embeddingOf = () => embedding;
  const { query } = await route(catalog);
  expect(query.embedding).toEqual(toFixedPoint(embedding));
  expect(query.embedding).not.toEqual(embedding);
});

describe('A query that comes again', () => {
  it('is not embedded again, and is answered as before; pins and exclusions are those of the request', async () => {
    const catalog = new RoutedCatalog(6);
    const first = await route(catalog);
    expect(await route(catalog)).toEqual(first);
    expect(catalog.embedded).toEqual(['does t1']);
    expect([...catalog.parts.queries.lookups]).toEqual([['default', { hits: 1, misses: 1 }]]);
    const fresh = new RoutedCatalog(6);
    for (const more of [{ exclude: ['t1'] }, { pin: ['t4'] }, { k: 4 }, {}]) {
      const again = await route(catalog, more);
      expect(again).toEqual(await route(new RoutedCatalog(6), more));
      expect(again).toEqual(await route(fresh, more));
    }
    expect(catalog.embedded).toEqual(['does t1']);
  });

  it('is understood anew when a tool was changed or removed, or a setting', async () => {
    const catalog = new RoutedCatalog(3);
    await route(catalog);
    catalog.story.tell(putTools([{ name: 't3', description: 'does t1 as well', inputSchema: {} }]));
    expect((await route(catalog)).candidates).toContain('t3');
    catalog.story.tell(putTools([], { remove: ['t1'] }));
    expect((await route(catalog)).candidates).not.toContain('t1');
    expect(catalog.embedded).toEqual(['does t1', 'does t1', 'does t1']);
    catalog.rerank = async (_, documents) => ({
      scores: documents.map((text) => Number(text.includes('t0'))),
    });
    catalog.story.tell({
      kind: 'settings',
      key: 'rerank',
      at: catalog.parts.now(),
      patch: { reranker: { model: 'any', budgetMs: 100 } },
    });
    expect((await route(catalog)).candidates[0]).toBe('t0');
  });

  it('is embedded and reranked once when it comes twice at once', async () => {
    const catalog = new RoutedCatalog(3, { reranker: { model: 'any', budgetMs: 100 } });
    let reranked = 0;
    catalog.rerank = async (_, documents) => {
      reranked++;
      return { scores: documents.map(() => 1) };
    };
    let answer = (): void => {};
    catalog.onEmbed = () => new Promise<void>((resolve) => (answer = resolve));
    const gone = new AbortController();
    const asked = [route(catalog), catalog.route({}, { signal: gone.signal }), route(catalog)];
    await expect.poll(() => catalog.embedded).toEqual(['does t1']);
    gone.abort(new Error('gone'));
    answer();
    const [one, cancelled, two] = await Promise.allSettled(asked);
    expect(cancelled).toMatchObject({ status: 'rejected', reason: { message: 'gone' } });
    expect(one).toMatchObject({ status: 'fulfilled' });
    expect(two).toEqual(one);
    expect([catalog.embedded, reranked]).toEqual([['does t1'], 1]);
  });

  it('asks a model again that could not answer', async () => {
    const catalog = new RoutedCatalog(3, { reranker: { model: 'any', budgetMs: 100 } });
    catalog.rerank = async () => ({ missing: 'too late' });
    const without = await route(catalog);
    catalog.rerank = async (_, documents) => ({
      scores: documents.map((text) => Number(text.includes('t2'))),
    });
    const reranked = await route(catalog);
    const scoreOf = ({ candidates, columns }: typeof without, tool: string): number =>
      columns.retrieval[candidates.indexOf(tool)];
    expect(scoreOf(without, 't2')).toBe(0);
    expect(scoreOf(reranked, 't2')).toBe(0.5);
    catalog.embedderDown = true;
    // Another query: the first one is known.
    expect((await route(catalog, { query: 'does t0' })).learn).toBe(false);
    catalog.embedderDown = false;
    expect((await route(catalog, { query: 'does t0' })).learn).toBe(true);
  });
});
