import { createHash } from 'node:crypto';
import { Sufficiency } from '../../bandit/calibration/sufficiency.ts';
import { InstructionEffects } from '../../bandit/effects/instruction-effects.ts';
import type { LearnerState } from '../../bandit/policy.ts';
import type { ToolVectors } from '../../bandit/tool-vectors.ts';
import { completeSettings } from '../ledger/catalog-settings.ts';
import type { Position } from '../ledger/entry.ts';
import { atOnce, type Steps } from '../scheduling/slices.ts';
import { type Answer, CatalogState } from './catalog-state.ts';
import { ExperimentParts, experimentParts } from './experiments/experiment-parts.ts';
import type { RewardOutcome } from './fold-result.ts';
import type { InstructionChange, InstructionRecord } from './instruction-table.ts';
import { LearnerParts, learnerParts } from './learner-parts.ts';
import type { LearnerContext, SavedLearners } from './learner-version.ts';
import type { SavedMergeRuns } from './merge-runs.ts';
import type { MergeRecord } from './merge-table.ts';
import type { SavedTask } from './observed/task-calls.ts';
import {
  inBlocks,
  part,
  readParts,
  type SnapshotPart,
  SnapshotUnreadableError,
  writeParts,
} from './snapshot-parts.ts';
import type { HeldTool, SourceRecord } from './source-table.ts';
import type { ToolRecord } from './tool-table.ts';

/** How many of them make one part. */
const TOOLS = 32;
const CHANGES = 32;
const MERGES = 8;
const ANSWERS = 1024;
const REFUSED = 1024;
const TASKS = 1024;
const TAUGHT_CASES = 4096;

/**
 * Yields a snapshot part by part. It holds the canonical state and nothing derived; two replicas at the same position encode
 * to the same bytes.
 */
export function encodeSnapshotParts(state: CatalogState): Generator<Uint8Array> {
  return writeParts(partsOf(state));
}

export function encodeSnapshot(state: CatalogState): Uint8Array {
  return atOnce(encodeSnapshotInSteps(state));
}

/** Encodes a snapshot with a pause after every part; the state must not change meanwhile. */
export function* encodeSnapshotInSteps(state: CatalogState): Steps<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for (const bytes of encodeSnapshotParts(state)) {
    parts.push(bytes);
    length += bytes.length;
    yield;
  }
  const snapshot = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const bytes of parts) {
    snapshot.set(bytes, at);
    at += bytes.length;
    yield;
  }
  return snapshot;
}

/** Decodes a snapshot. @throws SnapshotUnreadableError when it is damaged, of another version, or of another catalog. */
export function decodeSnapshot(bytes: Uint8Array, catalog: string, context: LearnerContext): CatalogState {
  return atOnce(decodeSnapshotInSteps(bytes, catalog, context));
}

/** Decodes a snapshot with a pause after every part. @throws as above */
export function* decodeSnapshotInSteps(
  bytes: Uint8Array,
  catalog: string,
  context: LearnerContext,
): Generator<void, CatalogState> {
  const parts = readParts(bytes);
  const head = headOf(parts);
  if (head.catalog !== catalog) {
    throw new SnapshotUnreadableError(
      `This is a snapshot of catalog "${head.catalog}", not of "${catalog}".`,
    );
  }
  const state = new CatalogState(catalog, context, head.embedder);
  try {
    const { position, taught, clock, revision } = head;
    Object.assign(state, { position, taught, clock, revision });
    state.settings = completeSettings(head.settings);
    state.decisions.droppedThrough = head.droppedThrough;
    state.rewards.restore(head.rewardHours);
    const experiments = new ExperimentParts();
    const learners = new LearnerParts();
    for (const one of parts) {
      if (!learners.take(one) && !experiments.take(one)) restorePart(state, one);
      yield;
    }
    state.merges.restoreChanges(head.mergeChanges);
    state.tools.restoreFreeSlots(head.freeSlots);
    state.instructions.restoreFreeSlots(head.freeInstructionSlots);
    state.experiments.restore(experiments.complete());
    state.learners.restore({ ...head.learners, versions: learners.complete() }, state.tools.vectors);
    return state;
  } catch (error) {
    state.free();
    throw error;
  }
}

/** Reads when a snapshot was made and which version of the policy was active, without building its state. */
export function snapshotSummary(bytes: Uint8Array): { readonly clock: number; readonly active: string } {
  const { clock, learners } = headOf(readParts(bytes));
  return { clock, active: learners.active };
}

/** The first part: everything that is short or needed before the rest. */
type Head = Pick<
  CatalogState,
  'catalog' | 'position' | 'taught' | 'clock' | 'revision' | 'embedder' | 'settings'
> & {
  readonly mergeChanges: number;
  readonly freeSlots: readonly number[];
  readonly freeInstructionSlots: readonly number[];
  readonly droppedThrough: number;
  readonly rewardHours: ReturnType<CatalogState['rewards']['hours']>;
  readonly learners: Omit<SavedLearners, 'versions'>;
};

function headOf(parts: Iterator<SnapshotPart>): Head {
  const first = parts.next();
  if (first.done || first.value.part !== 'catalog') {
    throw new SnapshotUnreadableError('This snapshot does not begin with its catalog.');
  }
  return first.value.json as Head;
}

function* partsOf(state: CatalogState): Generator<SnapshotPart | null> {
  const { catalog, position, taught, clock, revision, embedder, settings, tools, rewards } = state;
  const learners = state.learners.summary();
  const head: Head = {
    ...{ catalog, position, taught, clock, revision, embedder, settings, learners },
    mergeChanges: state.merges.changes,
    freeSlots: tools.freeSlots(),
    freeInstructionSlots: state.instructions.freeSlots(),
    droppedThrough: state.decisions.droppedThrough,
    rewardHours: rewards.hours(),
  };
  yield part('catalog', head);
  for (const records of inBlocks(tools.records(), TOOLS)) {
    const rows = rowsOf(tools.vectors.dimensions, records, (record) => tools.vectorOf(record));
    yield part('tools', records, [rows]);
  }
  for (const records of inBlocks(state.merges.all(), MERGES)) {
    const embedded = records.filter(({ hash }) => hash !== undefined);
    const rows = rowsOf(tools.vectors.dimensions, embedded, (record) => state.merges.vectorOf(record));
    yield part('merges', records, [rows]);
  }
  for (const records of inBlocks(state.instructions.records(), TOOLS)) {
    const { vectors } = state.instructions;
    yield part('instructions', records, [
      rowsOf(vectors.dimensions, records, ({ slot }) => vectors.get(slot)),
    ]);
  }
  for (const changes of inBlocks(state.instructions.changes(), CHANGES)) {
    yield part('instruction-changes', changes);
  }
  for (const records of inBlocks(state.sources.all(), TOOLS)) yield part('sources', records);
  for (const held of inBlocks(state.sources.saveHeld(), TOOLS)) yield part('held', held);
  yield part('merge-runs', state.mergeRuns.save());
  yield part('confusable', null, [state.confusable.save()]);
  for (const answers of inBlocks(state.answers, ANSWERS)) yield part('answers', answers);
  const { hour, recent, earlier } = state.limits.save();
  for (const outcomes of inBlocks(state.refused.save(), REFUSED)) yield part('refused', outcomes);
  for (const ids of inBlocks(state.taughtCases, TAUGHT_CASES)) yield part('taught-cases', ids);
  yield part('limits', hour, [recent.pairs, recent.weights, earlier.pairs, earlier.weights]);
  const forgotten = state.forgotten.save();
  yield part('forgotten-units', null, [
    Float64Array.of(forgotten.droppedThrough),
    forgotten.units,
    forgotten.times,
  ]);
  for (const { names, lengths, bytes } of state.decisions.save()) {
    yield part('decisions', names, [lengths, bytes]);
  }
  for (const tasks of inBlocks(state.tasks.save(), TASKS)) yield part('tasks', tasks);
  const { weights, ...domains } = state.domains;
  yield part('domains', domains, [weights]);
  yield savedPart('effects', state.effects.save());
  yield savedPart('sufficiency', state.sufficiency.save());
  yield* experimentParts(state.experiments.save());
  for (const version of state.learners.all()) yield* learnerParts(version);
}

/** Arrays by name. */
function savedPart(name: string, arrays: LearnerState['arrays']): SnapshotPart {
  return part(name, Object.keys(arrays), Object.values(arrays));
}

function savedArrays({ json, arrays }: SnapshotPart): LearnerState['arrays'] {
  const named = (json as string[]).map((name, i) => [name, arrays[i]]);
  return Object.fromEntries(named) as LearnerState['arrays'];
}

function restorePart(state: CatalogState, one: SnapshotPart): void {
  const { part, json, arrays } = one;
  switch (part) {
    case 'domains': {
      const [weights] = arrays as [Float32Array];
      state.domains = { ...(json as Omit<CatalogState['domains'], 'weights'>), weights };
      break;
    }
    case 'effects':
      state.effects = InstructionEffects.load(savedArrays(one));
      break;
    case 'sufficiency':
      state.sufficiency = Sufficiency.load(savedArrays(one));
      break;
    case 'tools':
      restoreRecords(state.tools, json as ToolRecord[], arrays[0] as Float32Array);
      break;
    case 'merges':
      restoreMerges(state, json as MergeRecord[], arrays[0] as Float32Array);
      break;
    case 'instructions':
      restoreRecords(state.instructions, json as InstructionRecord[], arrays[0] as Float32Array);
      break;
    case 'instruction-changes':
      for (const change of json as InstructionChange[]) state.instructions.log(change);
      break;
    case 'sources':
      for (const record of json as SourceRecord[]) state.sources.restore(record);
      break;
    case 'held':
      state.sources.restoreHeld(json as [string, HeldTool][]);
      break;
    case 'merge-runs':
      state.mergeRuns.restore(json as SavedMergeRuns);
      break;
    case 'confusable':
      state.confusable.restore(arrays[0] as Int32Array);
      break;
    case 'answers':
      for (const [key, answer] of json as [string, Answer][]) state.answers.set(key, answer);
      break;
    case 'refused':
      state.refused.restore(json as RewardOutcome[]);
      break;
    case 'taught-cases':
      for (const id of json as string[]) state.taughtCases.add(id);
      break;
    case 'limits': {
      const [pairs, weights, earlierPairs, earlierWeights] = arrays as Float64Array[];
      const earlier = { pairs: earlierPairs, weights: earlierWeights };
      state.limits.restore({ hour: json as number, recent: { pairs, weights }, earlier });
      break;
    }
    case 'forgotten-units': {
      const [[droppedThrough], units, times] = arrays as [Float64Array, Uint32Array, Float64Array];
      state.forgotten.restore({ droppedThrough, units, times });
      break;
    }
    case 'decisions': {
      const [lengths, bytes] = arrays as [Uint32Array, Uint8Array];
      state.decisions.restore({ names: json as string[], lengths, bytes });
      break;
    }
    case 'tasks':
      state.tasks.restore(json as SavedTask[]);
      break;
    default:
      throw new SnapshotUnreadableError(`This snapshot has a part "${part}" that is unknown here.`);
  }
}

function restoreRecords<Kept>(
  table: { vectors: ToolVectors; restore(record: Kept, vector: Float32Array): void },
  records: readonly Kept[],
  vectors: Float32Array,
): void {
  const { dimensions } = table.vectors;
  for (const [index, record] of records.entries()) {
    table.restore(record, vectors.subarray(index * dimensions, (index + 1) * dimensions));
  }
}

/** The vectors are those of the ones that have a hash, in their order. */
function restoreMerges(
  { merges, tools }: CatalogState,
  records: readonly MergeRecord[],
  vectors: Float32Array,
): void {
  const { dimensions } = tools.vectors;
  let at = 0;
  for (const record of records) {
    const isEmbedded = record.hash !== undefined;
    merges.restore(record, isEmbedded ? vectors.subarray(at, at + dimensions) : null);
    if (isEmbedded) at += dimensions;
  }
}

/** Returns the vectors in the order of the records, without the padding of the kernels' table. */
function rowsOf<Kept>(
  dimensions: number,
  records: readonly Kept[],
  vectorOf: (record: Kept) => Float32Array,
): Float32Array {
  const rows = new Float32Array(records.length * dimensions);
  for (const [index, record] of records.entries()) rows.set(vectorOf(record), index * dimensions);
  return rows;
}

/** Identifies a state: two processes that have folded a ledger up to the same position have the same digest. */
export interface StateDigest {
  readonly position: Position;
  /** SHA-256 of the canonical state, in hex. */
  readonly sha256: string;
}

export function stateDigest(state: CatalogState): StateDigest {
  return atOnce(digestInSteps(state));
}

/** Computes the digest with a pause after every part; the state must not change meanwhile. */
export function* digestInSteps(state: CatalogState): Generator<void, StateDigest> {
  const hash = createHash('sha256');
  for (const bytes of encodeSnapshotParts(state)) {
    hash.update(bytes);
    yield;
  }
  return { position: state.position, sha256: hash.digest('hex') };
}
