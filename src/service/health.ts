import type { Catalogs } from '../catalog/catalogs.ts';
import type { Health, Readiness } from '../http/endpoints/health.ts';
import type { Stores } from '../stores/stores.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { measureService } from './measure-service.ts';

export interface HealthParts {
  readonly catalogs: Catalogs;
  readonly stores: Stores;
  readonly metrics: Metrics;
}

/** How the service is, for probes and for Prometheus. */
export class ServiceHealth implements Health {
  readonly #parts: HealthParts;
  #looking: Promise<Readiness> | null = null;

  constructor(parts: HealthParts) {
    this.#parts = parts;
  }

  /** Those who ask meanwhile get the same answer: it costs a write. */
  ready(): Promise<Readiness> {
    this.#looking ??= readiness(this.#parts).finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  /** Prometheus text. */
  async metrics(): Promise<string> {
    await measureService(this.#parts);
    return this.#parts.metrics.text();
  }
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

async function readiness({ catalogs, stores }: HealthParts): Promise<Readiness> {
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
