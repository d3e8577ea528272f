import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { every, type Repeated } from '../every.ts';
import { Problem } from '../problem.ts';
import type { Leases } from '../snapshots/snapshot-store.ts';
import { nextStep } from './automatic-promotion.ts';
import type { Experiments } from './experiments.ts';

const LOOK_EVERY_MS = 5_000;
const ACTOR = 'automatic promotion';

export interface ExperimentDriverParts {
  readonly experiments: Experiments;
  readonly leases: Leases;
  onError(message: string, error: unknown): void;
}

/** Raises shares and promotes winners of automatic experiments; one process at a time does it for a catalog. */
export class ExperimentDriver {
  readonly #catalogs: Catalogs;
  readonly #parts: ExperimentDriverParts;
  readonly #looks: Repeated;

  constructor(catalogs: Catalogs, parts: ExperimentDriverParts) {
    this.#catalogs = catalogs;
    this.#parts = parts;
    this.#looks = every(LOOK_EVERY_MS, (signal) => this.#look(signal), {
      onError: (error) => parts.onError('experiments could not be driven', error),
    });
  }

  close(): Promise<void> {
    return this.#looks.close();
  }

  async #look(signal: AbortSignal): Promise<void> {
    for (const catalog of this.#catalogs.all()) {
      if (signal.aborted) return;
      try {
        await this.#drive(catalog);
      } catch (error) {
        // Somebody stopped or changed it in the meantime: then it is theirs.
        if (error instanceof Problem) continue;
        this.#parts.onError(`experiments of catalog "${catalog.name}" could not be driven`, error);
      }
    }
  }

  async #drive(catalog: Catalog): Promise<void> {
    const due = () =>
      catalog.state.experiments.all().flatMap((record) => {
        const change = nextStep(record, catalog.now());
        return change === null
          ? []
          : [{ name: record.definition.name, change, decidedBy: record.allocation?.version }];
      });
    if (due().length === 0) return;
    const lease = await this.#parts.leases.acquire(`experiments-${catalog.name}`);
    if (lease === null) return;
    try {
      for (const { name, change, decidedBy } of due()) {
        await this.#parts.experiments.change(catalog.name, name, change, ACTOR, decidedBy);
      }
    } finally {
      await lease.release();
    }
  }
}
