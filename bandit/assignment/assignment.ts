import { type Allocation, BUCKETS, Bucketer, ownersOf, type Sha256 } from './allocation.ts';

/** An experiment as assignment sees it. */
export interface AssignedExperiment {
  /** Tells its shuffle from every other experiment's; a new salt assigns everybody afresh. */
  readonly salt: string;
  /** Who gets which variant; the whole 10,000 basis points must be allocated. */
  readonly variants: Allocation;
}

/** Experiments of one layer never share a unit: the layer's buckets are divided between them. */
export interface AssignedLayer {
  readonly salt: string;
  /** Which experiment owns which part of the layer; the rest of it is in no experiment. */
  readonly experiments: Allocation;
}

/** Sticky: the same unit gets the same variant for as long as the allocation stands. */
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

/** Which experiment of a layer a unit takes part in. */
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
