import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Ridge } from '../../bandit/ridge/ridge.ts';
import { threadFile } from '../../config/package-root.ts';
import { every, type Repeated } from '../scheduling/every.ts';

/** The task of the thread, which answers with the inverse, packed. */
export interface RefactoriseTask {
  /** A, packed. */
  readonly matrix: Float64Array;
  readonly size: number;
}

/** After so many updates the rounding error is about 1e-12 (after 100,000: 1e-11). */
const DUE_AFTER_UPDATES = 20_000;
const LOOK_EVERY_MS = 2_000;

export interface RefactorisationOptions {
  readonly dueAfterUpdates?: number;
  onError(message: string, error: unknown): void;
}

/** Computes the inverses of ridges again when enough updates have accumulated, in a thread, while they go on learning and scoring. */
export class RefactorisationWatch {
  readonly #ridges: () => Iterable<Ridge>;
  readonly #options: RefactorisationOptions;
  readonly #looks: Repeated;
  #thread: Worker | null = null;

  constructor(ridges: () => Iterable<Ridge>, options: RefactorisationOptions) {
    this.#ridges = ridges;
    this.#options = options;
    this.#looks = every(LOOK_EVERY_MS, (signal) => this.#renewDue(signal), {
      onError: (error) => options.onError('ridges could not be factorised again', error),
    });
  }

  /** Renews every ridge that is due, one after the other: one thread is enough. */
  look(): Promise<void> {
    return this.#looks.now();
  }

  /** Abandons the computation that is under way; the ridges stay as they are. */
  async close(): Promise<void> {
    const closed = this.#looks.close();
    await this.#thread?.terminate();
    await closed;
  }

  async #renewDue(signal: AbortSignal): Promise<void> {
    const dueAfter = this.#options.dueAfterUpdates ?? DUE_AFTER_UPDATES;
    const tried = new Set<Ridge>();
    // Listed again each time: while one is computed, others may be discarded and their memory freed.
    const next = (): Ridge | undefined =>
      [...this.#ridges()].find((ridge) => !tried.has(ridge) && ridge.updatesSinceFactorisation >= dueAfter);
    for (let ridge = next(); ridge !== undefined && !signal.aborted; ridge = next()) {
      tried.add(ridge);
      try {
        await this.#renew(ridge);
      } catch (error) {
        ridge.abandonRefactorisation();
        if (!signal.aborted) this.#options.onError('a ridge could not be factorised again', error);
      }
    }
  }

  async #renew(ridge: Ridge): Promise<void> {
    const { matrix, size } = ridge.beginRefactorisation();
    const inverse = await this.#invert({ matrix, size });
    // Requests are answered between two slices.
    for (const _ of ridge.finishRefactorisation(inverse)) await nextTurn();
  }

  #invert(task: RefactoriseTask): Promise<Float64Array> {
    return new Promise((resolve, reject) => {
      const thread = new Worker(threadFile('refactorise-thread'), { workerData: task, execArgv: [] });
      this.#thread = thread;
      let answer: Float64Array | null = null;
      thread.once('message', (inverse: Float64Array) => {
        answer = inverse;
      });
      thread.once('error', reject);
      thread.once('exit', (code) => {
        this.#thread = null;
        if (answer !== null) resolve(answer);
        else reject(new Error(`The re-factorising thread ended with code ${code} and without an answer.`));
      });
    });
  }
}
