import type { Catalogs } from '../catalog/catalogs.ts';
import type { Stores } from '../stores/stores.ts';
import type { Metrics } from '../telemetry/metrics.ts';

interface MeasuredParts {
  readonly catalogs: Catalogs;
  readonly stores: Pick<Stores, 'lost' | 'queue' | 'snapshots' | 'writable'>;
  readonly metrics: Metrics;
}

/**
 * Reads the gauges, when somebody looks. What only the store knows is left out while it is away: an old number
 * would look like a calm one.
 */
export async function measureService(parts: MeasuredParts): Promise<void> {
  measureCatalogs(parts);
  const { storeUp, queueJobs, ledgerLag, ledgerUnsaved } = parts.metrics;
  try {
    await measureStores(parts);
    storeUp.set(await canWrite(parts.stores));
  } catch {
    for (const gauge of [queueJobs, ledgerLag, ledgerUnsaved]) gauge.reset();
    storeUp.set(0);
  }
}

async function canWrite(stores: Pick<Stores, 'lost' | 'writable'>): Promise<0 | 1> {
  if (stores.lost !== null) return 0;
  try {
    await stores.writable();
    return 1;
  } catch {
    return 0;
  }
}

async function measureStores({ catalogs, stores, metrics }: MeasuredParts): Promise<void> {
  const { queue, snapshots } = stores;
  metrics.queueJobs.set({ state: 'pending' }, await queue.pending());
  metrics.queueJobs.set({ state: 'delayed' }, await queue.delayed());
  metrics.queueJobs.set({ state: 'dead' }, await queue.buried());
  for (const catalog of catalogs.all()) {
    const { name } = catalog;
    const head = await catalog.ledger.head();
    metrics.ledgerLag.set({ catalog: name }, Math.max(0, head - catalog.state.position));
    const [newest = 0] = await (await snapshots.open(name)).list();
    metrics.ledgerUnsaved.set({ catalog: name }, Math.max(0, head - newest));
  }
}

function measureCatalogs({ catalogs, metrics }: MeasuredParts): void {
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
