import { randomUUID } from 'node:crypto';
import type { Catalog } from '../catalog/catalog.ts';
import type { Assignment, Exposure, ExposuresEntry, ShadowComparison } from '../ledger/entry.ts';
import type { AssignmentResult } from './assign.ts';

const MAX_BATCH = 500;
const MAX_WAIT_MS = 1000;

interface Batch {
  exposures: Exposure[];
  shadows: ShadowComparison[];
  /** By experiment, then variant. */
  decided: Map<string, Map<string, number>>;
  withoutUnit: Record<string, number>;
  ownDetail: Record<string, number>;
}

interface CatalogBatch {
  batch: Batch;
  timer: NodeJS.Timeout | null;
  writing: Promise<void>;
}

/**
 * Counts which units were shown which variant, in batches of at most one second or 500 decisions, because an entry for every
 * decision would double the ledger. A crash loses at most that second, for all variants alike.
 */
export class ExposureRecorder {
  readonly #batches = new Map<Catalog, CatalogBatch>();
  readonly #onError: (message: string, error: unknown) => void;

  constructor(onError: (message: string, error: unknown) => void) {
    this.#onError = onError;
  }

  /** Counts a decision of a variant, shown or not. */
  decide(catalog: Catalog, { experiment, variant }: Assignment): void {
    this.#record(catalog, ({ decided }) => {
      const counts = decided.get(experiment) ?? new Map<string, number>();
      counts.set(variant, (counts.get(variant) ?? 0) + 1);
      decided.set(experiment, counts);
    });
  }

  expose(catalog: Catalog, exposure: Exposure): void {
    this.#record(catalog, ({ exposures }) => exposures.push(exposure));
  }

  compare(catalog: Catalog, shadow: ShadowComparison): void {
    this.#record(catalog, ({ shadows }) => shadows.push(shadow));
  }

  /** Counts a request that fits these experiments, and takes part in none of them. */
  leaveOut(catalog: Catalog, { withoutUnit, ownDetail }: Omit<AssignmentResult, 'assigned'>): void {
    if (withoutUnit.length + ownDetail.length === 0) return;
    this.#record(catalog, (batch) => {
      for (const name of withoutUnit) batch.withoutUnit[name] = (batch.withoutUnit[name] ?? 0) + 1;
      for (const name of ownDetail) batch.ownDetail[name] = (batch.ownDetail[name] ?? 0) + 1;
    });
  }

  /** Resolves when everything that was recorded so far is in the ledger, or could not be written. */
  async flush(catalog: Catalog): Promise<void> {
    const current = this.#batches.get(catalog);
    if (current === undefined) return;
    this.#write(catalog, current);
    await current.writing;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#batches.keys()].map((catalog) => this.flush(catalog)));
    for (const { timer } of this.#batches.values()) if (timer !== null) clearTimeout(timer);
  }

  /** Adds to the batch of a catalog; ignores requests whose catalog was closed meanwhile. */
  #record(catalog: Catalog, add: (batch: Batch) => unknown): void {
    if (catalog.closed.aborted) return;
    const current = this.#batches.get(catalog) ?? this.#newBatch(catalog);
    add(current.batch);
    this.#schedule(catalog, current);
  }

  #newBatch(catalog: Catalog): CatalogBatch {
    const current: CatalogBatch = { batch: emptyBatch(), timer: null, writing: Promise.resolve() };
    this.#batches.set(catalog, current);
    catalog.closed.addEventListener('abort', () => {
      if (current.timer !== null) clearTimeout(current.timer);
      this.#batches.delete(catalog);
    });
    return current;
  }

  #schedule(catalog: Catalog, current: CatalogBatch): void {
    const { exposures, shadows } = current.batch;
    if (exposures.length + shadows.length >= MAX_BATCH) this.#write(catalog, current);
    else current.timer ??= setTimeout(() => this.#write(catalog, current), MAX_WAIT_MS);
  }

  #write(catalog: Catalog, current: CatalogBatch): void {
    if (current.timer !== null) clearTimeout(current.timer);
    current.timer = null;
    const { batch } = current;
    if (isEmpty(batch)) return;
    current.batch = emptyBatch();
    const entry: ExposuresEntry = {
      kind: 'exposures',
      key: `exposures/${randomUUID()}`,
      at: catalog.now(),
      ...batch,
      decided: [...batch.decided].flatMap(([experiment, counts]) =>
        [...counts].map(([variant, count]) => [experiment, variant, count] as const),
      ),
    };
    current.writing = current.writing.then(() => this.#append(catalog, entry));
  }

  async #append(catalog: Catalog, entry: ExposuresEntry): Promise<void> {
    try {
      await catalog.ledger.append([entry]);
    } catch (error) {
      if (catalog.closed.aborted) return;
      // The same key once more: should the first attempt have arrived after all, the fold takes only one of them.
      await catalog.ledger.append([entry]).catch(() => {
        const count = entry.exposures.length;
        this.#onError(`${count} exposures of catalog "${catalog.name}" could not be counted`, error);
      });
    }
  }
}

function emptyBatch(): Batch {
  return { exposures: [], shadows: [], decided: new Map(), withoutUnit: {}, ownDetail: {} };
}

function isEmpty({ exposures, shadows, decided, withoutUnit, ownDetail }: Batch): boolean {
  return (
    exposures.length === 0 &&
    shadows.length === 0 &&
    decided.size === 0 &&
    Object.keys(withoutUnit).length === 0 &&
    Object.keys(ownDetail).length === 0
  );
}
