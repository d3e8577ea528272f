/** A job as it is kept, in memory and in the journal of a data folder. */
export interface StoredJob {
  readonly name: string;
  readonly id: string;
  /** JSON. */
  readonly payload: string;
  /** ms since the epoch. */
  readonly runAt: number;
  /** Attempts that failed so far. */
  readonly attempts: number;
}

export interface StoredDeadJob {
  readonly job: StoredJob;
  readonly failedAt: number;
  readonly error: string;
}

/** One change of the jobs, and one record of the journal. Applying all events in order gives the `JobBook`. */
export type JobEvent =
  /** Deletes all jobs; those that still exist follow as `added` and `dead`. */
  | { readonly event: 'checkpoint' }
  | { readonly event: 'added'; readonly jobs: readonly StoredJob[] }
  | { readonly event: 'done'; readonly id: string }
  /** `attempts` that failed so far: applied twice, over a checkpoint, it says the same. */
  | { readonly event: 'failed'; readonly id: string; readonly runAt: number; readonly attempts: number }
  | { readonly event: 'buried'; readonly id: string; readonly failedAt: number; readonly error: string }
  | { readonly event: 'redriven'; readonly ids: readonly string[]; readonly runAt: number }
  /** Only in checkpoints. */
  | { readonly event: 'dead'; readonly jobs: readonly StoredDeadJob[] };
