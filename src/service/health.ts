import type { Catalogs } from '../catalog/catalogs.ts';
import type { Health, Readiness } from '../http/endpoints/health.ts';
import type { UnderstoodQueries } from '../routing/understood-queries.ts';
import type { Stores } from '../stores/stores.ts';
import type { Metrics } from './metrics.ts';

export interface HealthParts {
  readonly catalogs: Catalogs;
  readonly stores: Stores;
  readonly metrics: Metrics;
  readonly queries: UnderstoodQueries;
}

/** Answers readiness probes and Prometheus. */
export class ServiceHealth implements Health {
  readonly #parts: HealthParts;
  #checking: Promise<Readiness> | null = null;

  constructor(parts: HealthParts) {
    this.#parts = parts;
  }

  /** One check at a time, since it costs a write: calls meanwhile get its answer. */
  ready(): Promise<Readiness> {
    this.#checking ??= readiness(this.#parts).finally(() => {
      this.#checking = null;
    });
    return this.#checking;
  }

  /** Prometheus text. */
  async metrics(): Promise<string> {
    await measureService(this.#parts);
    return this.#parts.metrics.text();
  }
}

/** Why nothing can be written now; null if it can. */
async function storeFault(stores: Stores): Promise<string | null> {
  if (stores.lost !== null) return stores.lost;
  try {
    await stores.writable();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

async function readiness({ catalogs, stores }: HealthParts): Promise<Readiness> {
  const checks: Record<string, { ok: boolean; detail: string }> = {};
  for (const { name, replica } of catalogs.all()) {
    const lag = await replica.lag().catch((error: Error) => error);
    const fault = replica.failure ?? (lag instanceof Error ? lag : null);
    checks[`catalog:${name}`] = { ok: fault === null, detail: fault?.message ?? `${lag} entries behind` };
  }
  for (const [name, { message }] of catalogs.failed()) {
    checks[`catalog:${name}`] = { ok: false, detail: message };
  }
  const fault = await storeFault(stores);
  checks.store = { ok: fault === null, detail: fault ?? 'takes writes' };
  const pending = await stores.queue.pending().catch(() => null);
  checks.queue = {
    ok: pending !== null,
    detail: pending === null ? 'its store is away' : `${pending} jobs wait`,
  };
  // Without it retrieval goes on with words alone, so the service is ready.
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

/** Sets the gauges. Those that only the store knows are left out while it is away: an old value would be misleading. */
async function measureService(parts: HealthParts): Promise<void> {
  measureCatalogs(parts);
  const { storeUp, queueJobs, ledgerLag, ledgerUnsaved } = parts.metrics;
  try {
    await measureStores(parts);
    storeUp.set((await storeFault(parts.stores)) === null ? 1 : 0);
  } catch {
    for (const gauge of [queueJobs, ledgerLag, ledgerUnsaved]) gauge.reset();
    storeUp.set(0);
  }
}

async function measureStores({ catalogs, stores, metrics }: HealthParts): Promise<void> {
  const { queue, snapshots } = stores;
  metrics.queueJobs.set({ state: 'pending' }, await queue.pending());
  metrics.queueJobs.set({ state: 'delayed' }, await queue.delayed());
  metrics.queueJobs.set({ state: 'dead' }, await queue.buried());
  for (const catalog of catalogs.all()) {
    const { name } = catalog;
    const head = await catalog.ledger.head();
    metrics.ledgerLag.set({ catalog: name }, Math.max(0, head - catalog.state.position));
    const newest = await snapshots.newest(name);
    metrics.ledgerUnsaved.set({ catalog: name }, Math.max(0, head - newest));
  }
}

function measureCatalogs({ catalogs, metrics, queries }: HealthParts): void {
  metrics.queryBytes.set(queries.bytes);
  metrics.queryLookups.reset();
  for (const [catalog, { hits, misses }] of queries.lookups) {
    metrics.queryLookups.inc({ catalog, result: 'hit' }, hits);
    metrics.queryLookups.inc({ catalog, result: 'miss' }, misses);
  }
  for (const { name, state, index } of catalogs.all()) {
    metrics.catalogTools.set({ catalog: name }, state.tools.size);
    const vectors = index.report();
    if (vectors !== null) {
      metrics.indexOutside.set({ catalog: name }, vectors.outside);
      metrics.indexAlarm.set({ catalog: name }, vectors.alarmed ? 1 : 0);
      if (vectors.recall !== null) metrics.indexRecall.set({ catalog: name }, vectors.recall);
    }
    for (const { version, policy } of state.learners.all()) {
      const { cases, updates, ...bytes } = policy.sizeInBytes();
      for (const [part, size] of Object.entries(bytes)) {
        metrics.learnerBytes.set({ catalog: name, version, part }, size);
      }
      metrics.learnerCases.set({ catalog: name, version }, cases);
      metrics.learnerUpdates.set({ catalog: name, version }, updates);
    }
  }
}
