import type { ContextTraining } from './context-training.ts';

export const TRAINING_FORMAT = 1;

/** A training as it is kept. */
export interface StoredTraining {
  readonly version: typeof TRAINING_FORMAT;
  readonly training: ContextTraining;
  /** How often its process died while it was running. */
  readonly interruptions: number;
  /** SHA-256 of the model that it puts, in hex, from before it is put; absent: it has none, or not yet. */
  readonly model?: string;
}

/** Keeps the model of each catalog that was trained from its users, and the newest training. Contract: tests/contracts/context-model-store.contract.ts. */
export interface ContextModelStore {
  /** Keeps a training unless one is under way. Returns the one that is kept; durable when it resolves. */
  begin(stored: StoredTraining): Promise<StoredTraining>;
  /** Keeps how far a training is. Returns false, and writes nothing, if it has ended or another one has begun. */
  save(stored: StoredTraining): Promise<boolean>;
  /** Returns the newest training; null: there was none. @throws Error when another version of Bandolier has written it */
  training(catalog: string): Promise<StoredTraining | null>;
  /** Another text after every change of the model; null: there is none. */
  modelVersion(catalog: string): Promise<string | null>;
  /** Null: there is none. */
  model(catalog: string): Promise<Buffer | null>;
  /** Replaces the model, whole; null removes it. Durable when it resolves. Returns whether there was one. */
  putModel(catalog: string, model: Uint8Array | null): Promise<boolean>;
  /** Deletes the model and the training of a catalog. */
  remove(catalog: string): Promise<void>;
}

/** @throws Error when another version of Bandolier has written it */
export function parseTraining(text: string): StoredTraining {
  const stored: StoredTraining = JSON.parse(text);
  if (stored.version === TRAINING_FORMAT) return stored;
  throw new Error(
    `A training is stored in format ${stored.version}, and this version of Bandolier reads format ${TRAINING_FORMAT}: use the version that wrote it, or delete the model with \`bandolier context model --remove\`.`,
  );
}

/** Whether `next` may take the place of what is kept. */
export function isUnderWay(kept: StoredTraining | null): kept is StoredTraining {
  return kept !== null && kept.training.endedAt === null;
}
