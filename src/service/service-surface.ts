import type { CatalogPositions } from '../catalog/catalog-positions.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { patchTools, syncTools } from '../catalog/change-tools.ts';
import { listPins, setPins } from '../catalog/pins.ts';
import { getTool, listTools, toolStatistics } from '../catalog/read-tools.ts';
import { applyEvaluation } from '../evaluation/apply-evaluation.ts';
import type { Evaluations } from '../evaluation/evaluations.ts';
import type { Experiments } from '../experiments/experiments.ts';
import type { PolicyVersions } from '../experiments/policy-versions.ts';
import type { Readiness, Services } from '../http/services.ts';
import { deadRewards, redriveRewards } from '../rewards/dead-rewards.ts';
import { forgetTool, forgetUnit } from '../rewards/forget.ts';
import type { RefusedReports } from '../rewards/refused-reports.ts';
import { rewardHealth } from '../rewards/reward-health.ts';
import type { RewardIntake } from '../rewards/reward-intake.ts';
import { rewardStatus } from '../rewards/reward-status.ts';
import type { Routing } from '../routing/routing.ts';
import type { Stores } from '../stores/stores.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { measureService } from './measure-service.ts';

export interface ServiceParts {
  readonly catalogs: Catalogs;
  readonly positions: CatalogPositions;
  readonly routing: Routing;
  readonly intake: RewardIntake;
  readonly experiments: Experiments;
  readonly versions: PolicyVersions;
  readonly evaluations: Evaluations;
  readonly stores: Stores;
  readonly metrics: Metrics;
  readonly refused: RefusedReports;
}

/** What the outside may ask of a running service, wired to the nouns that answer. */
export function servicesOf(parts: ServiceParts): Services {
  const { catalogs, routing, intake, experiments, versions, evaluations, stores, metrics, refused } = parts;
  /** What is asked of one catalog: should it be deleted meanwhile, that is the answer. */
  const on = catalogs.holding.bind(catalogs);
  return {
    routing: {
      route: async (request, options) => {
        const start = performance.now();
        const answer = await on(request.catalog, () => routing.route(request, options));
        metrics.countRoute(answer.catalog, answer.fallback, (performance.now() - start) / 1000);
        return answer;
      },
      explain: (decisionId) => routing.explain(decisionId),
      activate: (decisionId) => routing.activate(decisionId),
    },
    rewards: {
      report: (reports) => intake.report(reports),
      status: (rewardId) => rewardStatus(rewardId, catalogs, stores),
      health: (catalog) => on(catalog, (open) => rewardHealth(open, { ...stores, refused })),
      dead: (limit) => deadRewards(stores.queue, limit),
      redrive: (ids) => redriveRewards(stores.queue, ids),
    },
    catalogs: {
      list: () => catalogs.list(),
      get: (name) => catalogs.view(name),
      configure: (name, patch) => catalogs.configure(name, patch),
      pins: async (name) => listPins(catalogs.get(name)),
      setPins: (name, pins) => on(name, () => setPins(catalogs, name, pins)),
      remove: (name) => catalogs.remove(name),
      digest: (name) => on(name, ({ replica }) => replica.digest()),
      forgetUnit: (name, unit) => on(name, (open) => forgetUnit(open, unit)),
    },
    tools: {
      sync: (catalog, tools, options) => on(catalog, (open) => syncTools(open, tools, options)),
      patch: (catalog, { put = [], remove = [] }, options) =>
        on(catalog, (open) => patchTools(open, put, remove, options)),
      list: async (catalog, { limit, cursor }) => listTools(catalogs.get(catalog), limit, cursor),
      get: async (catalog, name) => getTool(catalogs.get(catalog), name),
      remove: (catalog, name, options) =>
        on(catalog, (open) => {
          getTool(open, name);
          return patchTools(open, [], [name], options);
        }),
      forget: (catalog, name) => on(catalog, (open) => forgetTool(open, name)),
      stats: async (catalog, name) => toolStatistics(catalogs.get(catalog), name),
    },
    experiments: {
      list: async (catalog) => experiments.list(catalog),
      get: async (catalog, name) => experiments.get(catalog, name),
      create: (catalog, { applyFromEvaluation: id, ...draft }, actor) =>
        on(catalog, async () => {
          const complete =
            id === undefined ? draft : applyEvaluation(draft, await evaluations.winnerOf(catalog, id));
          return experiments.create(catalog, complete, actor);
        }),
      change: (catalog, name, change, actor) =>
        on(catalog, () => experiments.change(catalog, name, change, actor)),
      changeShares: (catalog, name, shares, actor) =>
        on(catalog, () => experiments.changeShares(catalog, name, shares, actor)),
      report: (catalog, name) => on(catalog, () => experiments.report(catalog, name)),
    },
    evaluations: {
      create: (catalog, draft) => on(catalog, () => evaluations.create(catalog, draft)),
      list: (catalog) => on(catalog, () => evaluations.list(catalog)),
      get: (catalog, id) => on(catalog, () => evaluations.get(catalog, id)),
      cancel: (catalog, id) => on(catalog, () => evaluations.cancel(catalog, id)),
    },
    versions: {
      list: async (catalog) => versions.list(catalog),
      get: async (catalog, version) => versions.get(catalog, version),
      differences: async (catalog, from, to) => versions.differences(catalog, from, to),
      activate: (catalog, version, actor) => on(catalog, () => versions.activate(catalog, version, actor)),
      snapshots: (catalog) => on(catalog, () => versions.snapshots(catalog)),
      restore: (catalog, position, actor) => on(catalog, () => versions.restore(catalog, position, actor)),
    },
    positions: parts.positions,
    ready: oneAtATime(() => readiness(parts)),
    metrics: async () => {
      await measureService(parts);
      return metrics.text();
    },
  };
}

/** Those who ask meanwhile get the same answer: it costs a write. */
function oneAtATime<T>(ask: () => Promise<T>): () => Promise<T> {
  let asking: Promise<T> | null = null;
  return () => {
    asking ??= ask().finally(() => {
      asking = null;
    });
    return asking;
  };
}

/** Why nothing can be written now; null if it can. */
async function unwritable(stores: Pick<Stores, 'writable'>): Promise<string | null> {
  try {
    await stores.writable();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

async function readiness({ catalogs, stores }: ServiceParts): Promise<Readiness> {
  const checks: Record<string, { ok: boolean; detail: string }> = {};
  for (const { name, replica } of catalogs.all()) {
    const lag = await replica.lag().catch((error: Error) => error);
    const fault = replica.failure ?? (lag instanceof Error ? lag : null);
    checks[`catalog:${name}`] = { ok: fault === null, detail: fault?.message ?? `${lag} entries behind` };
  }
  for (const [name, { message }] of catalogs.unopened()) {
    checks[`catalog:${name}`] = { ok: false, detail: message };
  }
  const fault = stores.lost ?? (await unwritable(stores));
  checks.store = { ok: fault === null, detail: fault ?? 'takes writes' };
  const pending = await stores.queue.pending().catch(() => null);
  checks.queue = {
    ok: pending !== null,
    detail: pending === null ? 'its store is away' : `${pending} jobs wait`,
  };
  // Without it words alone decide; that is worse, but it is an answer.
  const without = catalogs.all().filter(({ embedderDown }) => embedderDown);
  checks.embedder = {
    ok: true,
    detail:
      without.length === 0
        ? 'in use'
        : `not available: retrieval by words alone in ${without.map(({ name }) => name).join(', ')}`,
  };
  await stores.clock.look();
  const skews = stores.clock.skews();
  checks.clock = { ok: true, detail: skews.length === 0 ? 'right' : skews.join(' ') };
  return { ready: Object.values(checks).every(({ ok }) => ok), checks };
}
