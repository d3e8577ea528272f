import { documentTag, packDocument, unpackDocument } from '../storage/packed-document.ts';
import { type Decision, type Discovery, rewardDeadline } from './decision.ts';
import { type IndexedFields, indexedFieldsOf } from './decision-codec.ts';
import type { IndexedRecord } from './decision-index.ts';
import type { TaskDecision } from './task-index.ts';

/** An activation is a record of its own, after that of its decision. */
const ACTIVATION_TAG = 4;

/** So is a discovery. 5 are stored indices. */
const DISCOVERY_TAG = 6;

/** The record of a discovery. */
export interface Discovered {
  readonly id: string;
  readonly discovery: Discovery;
  /** Where the decision was made in a task or thread. */
  readonly inTasks?: readonly TaskDecision[];
}

/** Returns the record of a discovery of a decision. */
export function discoveryRecord(decision: Decision, discovery: Discovery): Discovered {
  return { id: decision.id, discovery, ...tasksOf(decision, rewardDeadline(decision)) };
}

export function encodeDiscovery(discovered: Discovered): Uint8Array {
  return packDocument(DISCOVERY_TAG, discovered, []);
}

/** Returns the discovery that a record holds; null: it holds something else. */
export function discoveryIn(bytes: Uint8Array): Discovered | null {
  if (documentTag(bytes) !== DISCOVERY_TAG) return null;
  return unpackDocument(DISCOVERY_TAG, bytes).json as Discovered;
}

export function indexedDiscovery({ id, discovery, inTasks }: Discovered): IndexedRecord {
  return { id, at: discovery.at, isDecision: false, inTasks };
}

/** The record of an activation. */
export interface Activated {
  readonly id: string;
  readonly at: number;
  /** When a decision with a default reward has to be settled. */
  readonly due?: number;
  /** Where it was made in a task or thread. */
  readonly inTasks?: readonly TaskDecision[];
}

/** Returns the activation of a decision that was shown at this time, ms since the epoch. */
export function activationRecord(decision: Decision, at: number): Activated {
  const { id, defaultReward } = decision;
  const deadline = rewardDeadline({ ...decision, activatedAt: at });
  return {
    ...{ id, at },
    ...(defaultReward !== undefined && { due: deadline }),
    ...tasksOf(decision, deadline),
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
  const discovered = discoveryIn(bytes);
  if (discovered !== null) return indexedDiscovery(discovered);
  return indexedDecision(indexedFieldsOf(bytes));
}

export function indexedActivation({ id, at, due, inTasks }: Activated): IndexedRecord {
  return { id, at, isDecision: false, deadline: due, inTasks };
}

export function indexedDecision(decision: IndexedFields): IndexedRecord {
  const { id, at, activatedAt, defaultReward } = decision;
  if (activatedAt === null) return { id, at, isDecision: true };
  const deadline = rewardDeadline(decision);
  return {
    ...{ id, at, isDecision: true },
    deadline: defaultReward === undefined ? undefined : deadline,
    ...tasksOf(decision, deadline),
  };
}

function tasksOf(
  { id, task, thread }: Pick<Decision, 'id' | 'task' | 'thread'>,
  deadline: number,
): Pick<Activated, 'inTasks'> {
  const keys = [task, thread].filter((key) => key !== undefined);
  return keys.length === 0 ? {} : { inTasks: keys.map((key) => ({ task: key, id, deadline })) };
}
