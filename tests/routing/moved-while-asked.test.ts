import { expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { Decision } from '../../src/decisions/decision.ts';
import { ToolIndex } from '../../src/retrieval/tool-index.ts';
import { routeQuery } from '../../src/routing/route-query.ts';
import type { RouteRequest } from '../../src/routing/route-request.ts';
import type { RoutingParts } from '../../src/routing/routing-parts.ts';
import { axis, START, Story } from '../state/entries.ts';

/** A catalog whose queries are embedded by its first model; `move` gives it another one, of other dimensions. */
function movable() {
  const story = Story.withTools(3);
  const index = new ToolIndex(story.kernels);
  story.state.tools.follow(index);
  const reranker = { model: 'any', budgetMs: 100 };
  story.tell({ kind: 'settings', key: 's', at: START, patch: { reranker, decomposition: 'none' } });
  const embedder = { fingerprint: 'e1', embedQueries: async (texts: string[]) => texts.map(() => axis('1')) };
  const catalog = { name: 'default', state: story.state, index, embedder, embedderDown: false };
  const move = (): void => {
    const vectors = [...story.state.tools.live()].map(({ tool: { name }, hash }) => {
      const embedding = new Float32Array(8).fill(0.35);
      return { name, hash, embedding };
    });
    const to = { model: 'other', fingerprint: 'e2', dimensions: 8, vectors };
    expect(story.tell({ kind: 'embedder', key: 'm', at: START, ...to })).toMatchObject({ kind: 'embedder' });
  };
  return { catalog: catalog as unknown as Catalog, move };
}

const REQUEST = {
  query: 'does t1',
  catalog: 'default',
  k: 2,
  explore: true,
  learn: true,
  activate: 'now',
  format: 'names',
} as unknown as RouteRequest;

it('a query whose catalog is moved to another embedder while it is reranked is answered by words, and teaches nothing', async () => {
  const { catalog, move } = movable();
  const logged: Decision[] = [];
  const rerank = async (_: string, documents: readonly string[]) => {
    move();
    return { scores: documents.map(() => 0.5) };
  };
  const nothing = (): void => undefined;
  const parts = {
    now: () => START,
    decisionLogs: { open: async () => ({ append: async (one: Decision) => logged.push(one) > 0 }) },
    rerankers: { ready: () => ({ rerank }) },
    splitters: {},
    exposures: { leaveOut: nothing, decide: nothing, expose: nothing },
    shadows: { rank: nothing },
  } as unknown as RoutingParts;
  const { answer } = await routeQuery(REQUEST, catalog, parts);
  expect(answer).toMatchObject({ fallback: 'embedder_down', tools: [{}, {}] });
  expect(logged).toMatchObject([{ fingerprint: 'e2', learn: false, query: { embedding: null } }]);
  catalog.index.free();
});
