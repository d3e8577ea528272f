/** A training of a catalog's model of context. The newest one of a catalog is kept. */
export interface ContextTraining {
  readonly id: string;
  readonly catalog: string;
  readonly status: 'queued' | 'running' | 'done' | 'refused' | 'cancelled' | 'failed';
  readonly createdAt: string;
  readonly endedAt: string | null;
  /** 0…1. */
  readonly progress: number;
  /** Examples that were read, and of how many users; of them those that say which items were used. */
  readonly examples: number;
  readonly users: number;
  readonly telling: number;
  /** Null until both models were judged. */
  readonly result: TrainingResult | null;
  /** Whether its model is in use since. */
  readonly replaced: boolean;
  /** Why the model was replaced or not, or what went wrong; null until it has ended. */
  readonly reason: string | null;
}

export interface TrainingResult {
  /** Examples that say which items were used, by which both models were judged and from which nothing was learned, and their users. */
  readonly judgedExamples: number;
  readonly judgedUsers: number;
  /** NDCG@5 of the model that was in use and of the new one, 0…1, and the 95 % interval of the difference: a paired bootstrap over users. */
  readonly before: number;
  readonly after: number;
  readonly lower: number;
  readonly upper: number;
  /** Trees beyond those of the model in the package. */
  readonly trees: number;
}
