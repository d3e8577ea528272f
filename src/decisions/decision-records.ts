import { documentTag, packDocument, unpackDocument } from '../storage/packed-document.ts';
import { type Decision, rewardDeadline } from './decision.ts';
import { DECISION_TAG } from './decision-codec.ts';
import type { IndexedRecord } from './decision-index.ts';
import type { TaskDecision } from './task-index.ts';

/** An activation is a record of its own, after that of its decision. */
const ACTIVATION_TAG = 4;

/** The record of an activation. */
export interface Activated {
  readonly id: string;
  readonly at: number;
  /** When a decision with a default reward has to be settled. */
  readonly due?: number;
  /** Where it was made in a task. */
  readonly inTask?: TaskDecision;
}

/** Returns the activation of a decision that was shown at this time, ms since the epoch. */
export function activationRecord(decision: Decision, at: number): Activated {
  const { id, defaultReward, task } = decision;
  const deadline = rewardDeadline({ ...decision, activatedAt: at });
  return {
    ...{ id, at },
    ...(defaultReward !== undefined && { due: deadline }),
    ...(task !== undefined && { inTask: { task, id, deadline } }),
  };
}

export function encodeActivation(activation: Activated): Uint8Array {
  return packDocument(ACTIVATION_TAG, activation, []);
}

/** Returns the activation that a record holds; null: it holds a decision. */
export function activationIn(bytes: Uint8Array): Activated | null {
  if (documentTag(bytes) !== ACTIVATION_TAG) return null;
  return unpackDocument(ACTIVATION_TAG, bytes).json as Activated;
}

/** Returns what the index keeps of a record, without decoding the whole decision. */
export function indexedRecord(bytes: Uint8Array): IndexedRecord {
  const activation = activationIn(bytes);
  if (activation !== null) return indexedActivation(activation);
  return indexedDecision(unpackDocument(DECISION_TAG, bytes).json as Decision);
}

export function indexedActivation({ id, at, due, inTask }: Activated): IndexedRecord {
  return { id, at, isDecision: false, deadline: due, inTask };
}

export function indexedDecision(
  decision: Pick<Decision, 'id' | 'at' | 'deadline' | 'activatedAt' | 'defaultReward' | 'task'>,
): IndexedRecord {
  const { id, at, activatedAt, defaultReward, task } = decision;
  if (activatedAt === null) return { id, at, isDecision: true };
  const deadline = rewardDeadline(decision);
  return {
    ...{ id, at, isDecision: true },
    deadline: defaultReward === undefined ? undefined : deadline,
    inTask: task === undefined ? undefined : { task, id, deadline },
  };
}
