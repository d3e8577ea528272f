import { type Allocation, BUCKETS, Bucketer, ownersOf, type Sha256 } from './allocation.ts';

/** The part of an experiment that assignment needs. */
export interface AssignedExperiment {
  /** Makes its assignment independent of other experiments; a new salt assigns all units again. */
  readonly salt: string;
  /** The variant of each bucket; all 10,000 basis points must be allocated. */
  readonly variants: Allocation;
}

/** A layer, whose buckets are divided between its experiments, so that they never share a unit. */
export interface AssignedLayer {
  readonly salt: string;
  /** Which experiment has which part of the layer; the rest is in no experiment. */
  readonly experiments: Allocation;
}

/** Assigns units to variants: the same unit gets the same variant as long as the allocation does not change. */
export class VariantAssignment {
  readonly #bucketer: Bucketer;
  readonly #owners: readonly (string | undefined)[];

  /** @throws RangeError unless every bucket has a variant. */
  constructor(experiment: AssignedExperiment, sha256: Sha256) {
    this.#bucketer = new Bucketer('experiment', experiment.salt, sha256);
    this.#owners = ownersOf(experiment.variants);
    const unowned = this.#owners.filter((owner) => owner === undefined).length;
    if (unowned > 0) {
      throw new RangeError(
        `the shares of the variants add up to ${BUCKETS - unowned} basis points: they must add up to ${BUCKETS}`,
      );
    }
  }

  variantOf(unit: string): string {
    return this.#owners[this.#bucketer.bucket(unit)]!;
  }
}

/** Assigns units to the experiments of a layer. */
export class LayerAssignment {
  readonly #bucketer: Bucketer;
  readonly #owners: readonly (string | undefined)[];

  constructor(layer: AssignedLayer, sha256: Sha256) {
    this.#bucketer = new Bucketer('layer', layer.salt, sha256);
    this.#owners = ownersOf(layer.experiments);
  }

  /** Null: this unit is in no experiment of the layer. */
  experimentOf(unit: string): string | null {
    return this.#owners[this.#bucketer.bucket(unit)] ?? null;
  }
}
