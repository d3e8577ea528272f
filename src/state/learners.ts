import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { createPolicy, loadPolicy } from '../../bandit/policies/registry.ts';
import type { LearnerState, Policy } from '../../bandit/policy.ts';
import type { ToolVectors } from '../../bandit/tool-vectors.ts';
import type { PolicySettings } from '../ledger/catalog-settings.ts';

/** Versions beside the active one that are kept, so that going back loses nothing. */
const KEPT_VERSIONS = 3;

export interface LearnerVersion {
  /** `<policy>@<n>`, n counts the versions of this catalog. */
  readonly version: string;
  readonly settings: PolicySettings;
  readonly policy: Policy;
}

/** What learners are made of, beside the numbers they learn. */
export interface LearnerContext {
  readonly kernels: Kernels;
  /** False in a process that only folds the canonical state (the snapshot writer): no A⁻¹, no θ. */
  readonly derived: boolean;
}

/** The policies of one catalog, one learner per version; exactly one is active. */
export class Learners {
  readonly #context: LearnerContext;
  readonly #versions = new Map<string, LearnerVersion>();
  #created = 0;
  #active = '';

  constructor(context: LearnerContext) {
    this.#context = context;
  }

  get active(): LearnerVersion {
    const active = this.#versions.get(this.#active);
    if (active === undefined) throw new Error('a catalog without an active policy was asked to rank');
    return active;
  }

  all(): IterableIterator<LearnerVersion> {
    return this.#versions.values();
  }

  get(version: string): LearnerVersion | undefined {
    return this.#versions.get(version);
  }

  /**
   * Makes the version with these settings the active one: one that is kept if there is such a one, else a new
   * learner that knows the given slots and has learned nothing. Exploration is no part of a version's identity.
   */
  activate(settings: PolicySettings, vectors: ToolVectors, slots: Iterable<number>): LearnerVersion {
    const identity = identityOf(settings);
    const kept = [...this.#versions.values()].find((other) => identityOf(other.settings) === identity);
    const version = kept ? { ...kept, settings } : this.#create(settings, vectors, slots);
    // Re-inserted last, so that the first one is always the one that has not been used for longest.
    this.#versions.delete(version.version);
    this.#versions.set(version.version, version);
    this.#active = version.version;
    for (const old of this.#versions.keys()) {
      if (this.#versions.size <= KEPT_VERSIONS + 1) break;
      this.#release(old);
    }
    return version;
  }

  /** Another embedder: everything learned is bound to the old one. Starts the active settings anew. */
  startAnew(vectors: ToolVectors, slots: Iterable<number>): void {
    const { settings } = this.active;
    for (const version of [...this.#versions.keys()]) this.#release(version);
    this.activate(settings, vectors, slots);
  }

  save(): {
    created: number;
    active: string;
    versions: { version: string; settings: PolicySettings; state: LearnerState }[];
  } {
    const versions = [...this.#versions.values()].map(({ version, settings, policy }) => ({
      version,
      settings,
      state: policy.save(),
    }));
    return { created: this.#created, active: this.#active, versions };
  }

  restore(saved: ReturnType<Learners['save']>, vectors: ToolVectors): void {
    this.free();
    this.#created = saved.created;
    this.#active = saved.active;
    for (const { version, settings, state } of saved.versions) {
      const policy = loadPolicy(
        settings.name,
        { ...this.#context, vectors, parameters: settings.parameters },
        state,
      );
      this.#versions.set(version, { version, settings, policy });
    }
  }

  free(): void {
    for (const version of [...this.#versions.keys()]) this.#release(version);
  }

  #create(settings: PolicySettings, vectors: ToolVectors, slots: Iterable<number>): LearnerVersion {
    const policy = createPolicy(settings.name, {
      ...this.#context,
      vectors,
      parameters: settings.parameters,
    });
    for (const slot of slots) policy.addTool(slot);
    this.#created++;
    return { version: `${settings.name}@${this.#created}`, settings, policy };
  }

  #release(version: string): void {
    this.#versions.get(version)?.policy.free();
    this.#versions.delete(version);
  }
}

function identityOf(settings: PolicySettings): string {
  return JSON.stringify([settings.name, Object.entries(settings.parameters).sort()]);
}
