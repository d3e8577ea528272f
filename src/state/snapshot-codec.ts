import { crc32 } from 'node:zlib';
import { decodeLearner, encodeLearner } from '../../bandit/learner-codec.ts';
import { completeSettings } from '../ledger/catalog-settings.ts';
import { packDocument, unpackDocument } from '../storage/packed-document.ts';
import { type Answer, CatalogState } from './catalog-state.ts';
import type { ExperimentTableState } from './experiment-table.ts';
import { FloatPool } from './float-pool.ts';
import type { LearnerContext, LearnerVersion } from './learners.ts';
import { type PackedRecord, packRecord, unpackRecord } from './observed-codec.ts';
import type { RewardOutcome } from './outcome.ts';
import type { ToolRecord } from './tool-table.ts';

/**
 * A snapshot holds the canonical state and nothing derived; two replicas at the same position encode to the same
 * bytes. Little-endian:
 *
 *   "BSNP" | version u32 | CRC-32 of all that follows u32 | document bytes u32 | document | learners
 *
 * The document is a packed document (JSON, tool vectors, a pool of short arrays); each learner follows as its own
 * codec writes it, with its length in the JSON.
 */
const MAGIC = 'BSNP';
const VERSION = 2;
const HEAD_BYTES = 16;
const DOCUMENT_TAG = 3;

export class SnapshotUnreadableError extends Error {
  override readonly name = 'SnapshotUnreadableError';
}

export function encodeSnapshot(state: CatalogState): Uint8Array {
  const pool = new FloatPool();
  const records = [...state.tools.records()];
  const learners = state.learners.save();
  const encoded = learners.versions.map((version) => encodeLearner(version.state));
  const json = {
    catalog: state.catalog,
    position: state.position,
    taught: state.taught,
    clock: state.clock,
    revision: state.revision,
    fingerprint: state.fingerprint,
    dimensions: state.tools.vectors.dimensions,
    settings: state.settings,
    tools: records,
    freeSlots: state.tools.freeSlots(),
    decisions: [...state.decisions.records()].map((record) => packRecord(record, pool)),
    droppedThrough: state.decisions.droppedThrough,
    refused: state.refused.save(),
    answers: [...state.answers],
    limits: state.limits.save(),
    rewardHours: state.rewards.hours(),
    experiments: state.experiments.save(),
    learners: {
      created: learners.created,
      active: learners.active,
      pins: learners.pins,
      versions: learners.versions.map(({ state: _, ...version }, index) => ({
        ...version,
        bytes: encoded[index].length,
      })),
    },
  };
  const document = packDocument(DOCUMENT_TAG, json, [vectorsOf(state, records), pool.concatenated()]);
  const head = Buffer.alloc(HEAD_BYTES);
  head.write(MAGIC);
  head.writeUInt32LE(VERSION, 4);
  head.writeUInt32LE(document.length, 12);
  const bytes = Buffer.concat([head, document, ...encoded]);
  bytes.writeUInt32LE(crc32(bytes.subarray(12)), 8);
  return bytes;
}

/** @throws SnapshotUnreadableError when it is damaged, of another version, or of another catalog. */
export function decodeSnapshot(bytes: Uint8Array, catalog: string, context: LearnerContext): CatalogState {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  check(buffer);
  const end = HEAD_BYTES + buffer.readUInt32LE(12);
  const { json, arrays } = unpackDocument(DOCUMENT_TAG, buffer.subarray(HEAD_BYTES, end));
  const saved = json as SavedState;
  if (saved.catalog !== catalog) {
    throw new SnapshotUnreadableError(
      `This is a snapshot of catalog "${saved.catalog}", not of "${catalog}".`,
    );
  }
  const [vectors, floats] = arrays as [Float32Array, Float32Array];
  const state = new CatalogState(catalog, context, saved.dimensions);
  state.position = saved.position;
  state.taught = saved.taught;
  state.clock = saved.clock;
  state.revision = saved.revision;
  state.fingerprint = saved.fingerprint;
  state.settings = completeSettings(saved.settings);
  for (const [index, record] of saved.tools.entries()) {
    const start = index * saved.dimensions;
    state.tools.restore(record, vectors.subarray(start, start + saved.dimensions));
  }
  state.tools.restoreFreeSlots(saved.freeSlots);
  for (const packed of saved.decisions) state.decisions.restore(unpackRecord(packed, floats));
  state.decisions.droppedThrough = saved.droppedThrough;
  state.refused.restore(saved.refused);
  for (const [key, answer] of saved.answers) state.answers.set(key, answer);
  state.limits.restore(saved.limits);
  state.rewards.restore(saved.rewardHours);
  state.experiments.restore(saved.experiments);
  let at = end;
  const versions = saved.learners.versions.map(({ bytes: length, ...version }) => {
    const learner = decodeLearner(buffer.subarray(at, at + length));
    at += length;
    return { ...version, state: learner };
  });
  state.learners.restore({ ...saved.learners, versions }, state.tools.vectors);
  return state;
}

/** When a snapshot was made and which version of the policy was active, without building its state. */
export function snapshotSummary(bytes: Uint8Array): { readonly clock: number; readonly active: string } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  check(buffer);
  const end = HEAD_BYTES + buffer.readUInt32LE(12);
  const { clock, learners } = unpackDocument(DOCUMENT_TAG, buffer.subarray(HEAD_BYTES, end))
    .json as SavedState;
  return { clock, active: learners.active };
}

type SavedState = Pick<
  CatalogState,
  'catalog' | 'position' | 'taught' | 'clock' | 'revision' | 'fingerprint' | 'settings'
> & {
  readonly dimensions: number;
  readonly tools: readonly ToolRecord[];
  readonly freeSlots: readonly number[];
  readonly decisions: readonly PackedRecord[];
  readonly droppedThrough: number;
  readonly refused: readonly RewardOutcome[];
  readonly answers: readonly [string, Answer][];
  readonly limits: ReturnType<CatalogState['limits']['save']>;
  readonly experiments: ExperimentTableState;
  readonly rewardHours: ReturnType<CatalogState['rewards']['hours']>;
  readonly learners: {
    readonly created: number;
    readonly active: string;
    readonly pins: [string, number][];
    readonly versions: readonly (Omit<LearnerVersion, 'policy'> & { readonly bytes: number })[];
  };
};

/** Rows in the order of the records, without the padding of the kernels' table. */
function vectorsOf(state: CatalogState, records: readonly ToolRecord[]): Float32Array {
  const { vectors } = state.tools;
  const rows = new Float32Array(records.length * vectors.dimensions);
  for (const [index, { slot }] of records.entries()) rows.set(vectors.get(slot), index * vectors.dimensions);
  return rows;
}

function check(bytes: Buffer): void {
  if (bytes.length < HEAD_BYTES || bytes.toString('latin1', 0, 4) !== MAGIC) {
    throw new SnapshotUnreadableError('This is no snapshot, or only the beginning of one.');
  }
  if (bytes.readUInt32LE(4) !== VERSION) {
    throw new SnapshotUnreadableError(
      `This snapshot has version ${bytes.readUInt32LE(4)}; version ${VERSION} can be read here.`,
    );
  }
  if (crc32(bytes.subarray(12)) !== bytes.readUInt32LE(8)) {
    throw new SnapshotUnreadableError('This snapshot is damaged: its checksum does not match.');
  }
}
