import { type Allocation, allocate, BUCKETS, reallocate } from '../../../bandit/assignment/allocation.ts';
import { LayerAssignment } from '../../../bandit/assignment/assignment.ts';
import type { ShadowComparison } from '../../ledger/entry.ts';
import { ExperimentRecord, type ExperimentRecordState, sha256 } from './experiment-record.ts';

/** Exposure batches whose keys are remembered: a batch is appended again within seconds or never. */
const KEPT_BATCHES = 256;

/** Shadow slates that wait for rewards; when there are more, the oldest are dropped without a comparison. */
const KEPT_SHADOWS = 10_000;

/** Running experiments that divide the units of one layer. */
export interface RunningLayer {
  readonly layer: string;
  /** Null: its only experiment has the whole layer. */
  readonly division: LayerAssignment | null;
  readonly experiments: readonly ExperimentRecord[];
}

export interface ExperimentTableState {
  readonly experiments: readonly ExperimentRecordState[];
  readonly batches: readonly string[];
  readonly layers: readonly [string, Allocation][];
  readonly shadows: readonly ShadowComparison[];
}

/** Keeps the experiments of one catalog, in the order in which they were created. */
export class ExperimentTable {
  readonly #records = new Map<string, ExperimentRecord>();
  readonly #batches = new Set<string>();
  /** Which experiment has which part of a layer; kept, because it depends on the history. */
  readonly #layers = new Map<string, Allocation>();
  readonly #shadows = new Map<string, ShadowComparison[]>();
  #running: readonly RunningLayer[] = [];

  get size(): number {
    return this.#records.size;
  }

  /** The running experiments; empty for most catalogs, so that their requests cost nothing. */
  get running(): readonly RunningLayer[] {
    return this.#running;
  }

  get(name: string): ExperimentRecord | undefined {
    return this.#records.get(name);
  }

  all(): ExperimentRecord[] {
    return [...this.#records.values()];
  }

  add(record: ExperimentRecord): void {
    this.#records.set(record.definition.name, record);
  }

  /** Call it whenever an experiment starts or ends. Experiments that go on keep their part of the layer. */
  divide(layer: string): void {
    const running = this.runningIn(layer);
    const shares = running.map(({ definition: { name, traffic } }) => ({ name, basisPoints: traffic }));
    this.#layers.set(layer, reallocate(this.#layers.get(layer) ?? allocate([]), shares));
    this.#refresh();
  }

  runningIn(layer: string): ExperimentRecord[] {
    return this.all().filter(({ status, definition }) => status === 'running' && definition.layer === layer);
  }

  /** Remembers a batch of exposures; returns false if it was folded before. */
  takeBatch(key: string): boolean {
    if (this.#batches.has(key)) return false;
    this.#batches.add(key);
    for (const old of this.#batches) {
      if (this.#batches.size <= KEPT_BATCHES) break;
      this.#batches.delete(old);
    }
    return true;
  }

  shadowsOf(decisionId: string): readonly ShadowComparison[] {
    return this.#shadows.get(decisionId) ?? [];
  }

  keepShadow(comparison: ShadowComparison): void {
    const { decisionId } = comparison;
    this.#shadows.set(decisionId, [...this.shadowsOf(decisionId), comparison]);
    for (const old of this.#shadows.keys()) {
      if (this.#shadows.size <= KEPT_SHADOWS) break;
      this.#shadows.delete(old);
    }
  }

  /** Drops units that have ended. */
  expire(clock: number): void {
    for (const { units, tally } of this.#records.values()) {
      if (units.size > 0) units.expire(clock, (unit, variant) => tally?.release(variant, unit));
    }
  }

  save(): ExperimentTableState {
    return {
      experiments: this.all().map((record) => record.save()),
      batches: [...this.#batches],
      layers: [...this.#layers],
      shadows: [...this.#shadows.values()].flat(),
    };
  }

  restore({ experiments, batches, layers, shadows }: ExperimentTableState): void {
    for (const saved of experiments) this.add(ExperimentRecord.load(saved));
    for (const key of batches) this.#batches.add(key);
    for (const [layer, allocation] of layers) this.#layers.set(layer, allocation);
    for (const comparison of shadows) this.keepShadow(comparison);
    this.#refresh();
  }

  #refresh(): void {
    const layers = [...this.#layers].sort(([a], [b]) => (a < b ? -1 : 1));
    this.#running = layers
      .map(([layer, allocation]) => runningLayer(layer, allocation, this.runningIn(layer)))
      .filter(({ experiments }) => experiments.length > 0);
  }
}

function runningLayer(
  layer: string,
  allocation: Allocation,
  experiments: readonly ExperimentRecord[],
): RunningLayer {
  const isWhole = experiments.length === 1 && experiments[0].definition.traffic === BUCKETS;
  const division = isWhole ? null : new LayerAssignment({ salt: layer, experiments: allocation }, sha256);
  return { layer, division, experiments };
}
