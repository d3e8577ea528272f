import { afterEach, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { Catalogs } from '../../src/catalog/catalogs.ts';
import { FileDecisionLogs } from '../../src/decisions/file-decision-logs.ts';
import type { JobQueue } from '../../src/queue/job-queue.ts';
import { ToolIndex } from '../../src/retrieval/tool-index.ts';
import type { RouteRequest } from '../../src/routing/route-request.ts';
import { Routing } from '../../src/routing/routing.ts';
import type { RoutingParts } from '../../src/routing/routing-parts.ts';
import { sampleDecision } from '../decisions/arbitrary-decision.ts';
import { temporaryFolder } from '../e2e/running-service.ts';
import { axis, START, Story } from '../state/entries.ts';
import { create, move } from '../state/experiment-entries.ts';

const ASSIGNMENT = { experiment: 'trial', variant: 'new', allocation: 1, unit: '0123456789abcdef' };
const disposals: (() => unknown)[] = [];
afterEach(async () => {
  for (const dispose of disposals.splice(0).reverse()) await dispose();
});

/** Routing in one catalog, with what it counts for experiments; time stands still. */
function routingOfOne() {
  const folder = temporaryFolder();
  disposals.push(() => folder.remove());
  const story = Story.withTools(3);
  story.tell({ kind: 'settings', key: 's', at: START, patch: { decomposition: 'none' } });
  // No request in here names a session.
  story.tell(create());
  move(story, { action: 'start' });
  const index = new ToolIndex(story.kernels);
  disposals.push(() => index.free());
  story.state.tools.follow(index);
  const embedder = { fingerprint: 'e1', embedQueries: async (texts: string[]) => texts.map(() => axis('1')) };
  const catalog = { name: 'default', state: story.state, index, embedder, embedderDown: false };
  const catalogs = {
    serves: () => true,
    find: () => catalog,
    get: () => catalog,
    holding: (_: string, work: (one: unknown) => unknown) => work(catalog),
  } as unknown as Catalogs;
  const decisionLogs = new FileDecisionLogs(folder.path, { retainMs: 3_600_000, now: () => START });
  disposals.push(() => decisionLogs.close());
  const counted = { exposed: 0, ranked: 0, leftOut: 0 };
  const parts = {
    now: () => START,
    decisionLogs,
    rerankers: { ready: () => null },
    splitters: {},
    exposures: {
      tokens: { of: () => 1 },
      leaveOut: () => counted.leftOut++,
      decide: () => undefined,
      expose: () => counted.exposed++,
    },
    shadows: { rank: () => counted.ranked++ },
  } as unknown as RoutingParts;
  const routing = new Routing(
    catalogs,
    parts,
    { add: async () => undefined } as unknown as JobQueue,
    () => {},
  );
  return { routing, decisionLogs, counted, catalog: catalog as unknown as Catalog };
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

it('a decision that is activated many times at once is exposed once', async () => {
  const { routing, decisionLogs, counted } = routingOfOne();
  const log = await decisionLogs.open('default');
  await log.append({ ...sampleDecision('default.a', START, 6), assignments: [ASSIGNMENT] });
  await Promise.all(Array.from({ length: 5 }, () => routing.activate('default.a')));
  await routing.activate('default.a');
  expect(counted.exposed).toBe(1);
});

it('requests with one Idempotency-Key in one moment make one decision, which counts once', async () => {
  const { routing, counted } = routingOfOne();
  const asked = Array.from({ length: 5 }, () => routing.route(REQUEST, { idempotencyKey: 'one' }));
  const [first, ...others] = await Promise.all(asked);
  for (const other of others) expect(other).toEqual(first);
  expect(counted).toEqual({ exposed: 0, ranked: 1, leftOut: 1 });
});
