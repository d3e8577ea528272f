import { randomUUID } from 'node:crypto';
import type { Catalogs } from '../../catalog/catalogs.ts';
import { Problem } from '../../errors/problem.ts';
import type { JobQueue } from '../../queue/job-queue.ts';
import { type ContextModelStore, type StoredTraining, TRAINING_FORMAT } from './context-model-store.ts';
import type { ContextModels } from './context-models.ts';
import type { ContextTraining } from './context-training.ts';
import { trainingJobOf } from './run-training.ts';

export interface ContextTrainingsParts {
  readonly catalogs: Pick<Catalogs, 'holding'>;
  readonly store: ContextModelStore;
  readonly models: ContextModels;
  readonly queue: JobQueue;
  /** ms since the epoch. */
  now(): number;
}

/** Trains the model of a catalog's context from what was reported, and takes it back. Each training is run by a job of the queue. */
export class ContextTrainings {
  readonly #parts: ContextTrainingsParts;

  constructor(parts: ContextTrainingsParts) {
    this.#parts = parts;
  }

  /** Starts a training; returns the one that is under way, if there is one. @throws StoreUnavailableError */
  start(catalog: string): Promise<ContextTraining> {
    return this.#parts.catalogs.holding(catalog, async () => {
      const { store, queue } = this.#parts;
      const own: ContextTraining = {
        ...{ id: randomUUID(), catalog, status: 'queued', createdAt: this.#time(), endedAt: null },
        ...{ progress: 0, examples: 0, users: 0, telling: 0, result: null, replaced: false, reason: null },
      };
      const { training } = await store.begin(kept(own));
      try {
        // Also of one that is under way: its job may have been lost.
        await queue.add([trainingJobOf(training)]);
      } catch (error) {
        const reason = `No job could be enqueued for it: ${(error as Error).message}`;
        if (training.id === own.id) await this.#end(training, 'failed', reason).catch(() => {});
        throw error;
      }
      return training;
    });
  }

  /** Returns the newest training; null: there was none. */
  newest(catalog: string): Promise<ContextTraining | null> {
    return this.#parts.catalogs.holding(
      catalog,
      async () => (await this.#parts.store.training(catalog))?.training ?? null,
    );
  }

  /** Ends the training that is under way; the process that runs it stops within a second. @throws Problem training-conflict when there is none */
  cancel(catalog: string): Promise<ContextTraining> {
    return this.#parts.catalogs.holding(catalog, async () => {
      const newest = await this.#parts.store.training(catalog);
      const cancelled = newest && (await this.#end(newest.training, 'cancelled', null));
      if (cancelled !== null) return cancelled;
      throw new Problem(
        'training-conflict',
        `No training is under way in catalog "${catalog}".`,
        'GET …/context/training shows the newest one, and how it ended.',
      );
    });
  }

  /** Goes back to the model in the package. Returns whether the catalog had one of its own. */
  removeModel(catalog: string): Promise<boolean> {
    return this.#parts.catalogs.holding(catalog, async () => {
      const wasThere = await this.#parts.store.putModel(catalog, null);
      await this.#parts.models.lookAt(catalog);
      return wasThere;
    });
  }

  /** Returns whether a catalog has a model of its own, and what it holds. */
  model(
    catalog: string,
  ): Promise<{ readonly trained: boolean; readonly trees: number; readonly embedder: string }> {
    return this.#parts.catalogs.holding(catalog, async () => {
      const { models } = this.#parts;
      await models.lookAt(catalog);
      const { trees, embedder } = models.rankerOf(catalog);
      return { trained: models.rankerOf(catalog) !== models.shipped, trees: trees.size, embedder };
    });
  }

  /** Null: it has ended. */
  async #end(
    training: ContextTraining,
    status: 'cancelled' | 'failed',
    reason: string | null,
  ): Promise<ContextTraining | null> {
    const ended = { ...training, status, reason, endedAt: this.#time() };
    return (await this.#parts.store.save(kept(ended))) ? ended : null;
  }

  #time(): string {
    return new Date(this.#parts.now()).toISOString();
  }
}

const kept = (training: ContextTraining): StoredTraining => ({
  version: TRAINING_FORMAT,
  training,
  interruptions: 0,
});
