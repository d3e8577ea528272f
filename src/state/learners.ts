import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { decodeLearner, encodeLearner } from '../../bandit/learner-codec.ts';
import { createPolicy, loadPolicy } from '../../bandit/policies/registry.ts';
import type { LearnerState, Policy } from '../../bandit/policy.ts';
import type { ToolVectors } from '../../bandit/tool-vectors.ts';
import type { PolicySettings } from '../ledger/catalog-settings.ts';
import type { Assignment } from '../ledger/entry.ts';

/** Versions beside the active one that are kept, so that going back loses nothing. */
const KEPT_VERSIONS = 3;

export interface LearnerVersion {
  /** `<policy>@<n>`, n counts the versions of this catalog. */
  readonly version: string;
  readonly settings: PolicySettings;
  readonly policy: Policy;
  readonly learning: Learning;
}

/** From which decisions a version learns: all, none, or those of one variant of an experiment. */
export type Learning = 'all' | 'none' | { readonly experiment: string; readonly variant: string };

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
  /** Versions that experiments need, and how many of them do. */
  readonly #pins = new Map<string, number>();
  #created = 0;
  #active = '';

  constructor(context: LearnerContext) {
    this.#context = context;
  }

  /** What all of them compute with. */
  get kernels(): Kernels {
    return this.#context.kernels;
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

  /** The versions that a decision with these assignments teaches. */
  *taughtBy(assignments: readonly Assignment[] = []): Generator<LearnerVersion> {
    for (const learner of this.#versions.values()) {
      const { learning } = learner;
      if (learning === 'all' || (learning !== 'none' && assignments.some((a) => isOf(a, learning)))) {
        yield learner;
      }
    }
  }

  /**
   * Makes the version with these settings the active one: one that is kept if there is such a one, else a new
   * learner that knows the given slots and has learned nothing. Exploration is no part of a version's identity.
   */
  activate(settings: PolicySettings, vectors: ToolVectors, slots: Iterable<number>): LearnerVersion {
    return this.#use({ ...this.shared(settings, vectors, slots), settings });
  }

  /** Makes a version that is kept the active one; from now on it learns from everything. Null if it is not kept. */
  activateVersion(version: string, settings?: PolicySettings): LearnerVersion | null {
    const kept = this.#versions.get(version);
    if (kept === undefined) return null;
    return this.#use({ ...kept, settings: settings ?? kept.settings, learning: 'all' });
  }

  /** A version with these settings that learns from everything: the active one, another that is kept, or a new one. */
  shared(settings: PolicySettings, vectors: ToolVectors, slots: Iterable<number>): LearnerVersion {
    const identity = identityOf(settings);
    const candidates = [...this.#versions.values()].reverse();
    const kept =
      candidates.find(
        ({ version, settings: own }) => version === this.#active && identityOf(own) === identity,
      ) ??
      candidates.find(({ learning, settings: own }) => learning === 'all' && identityOf(own) === identity);
    return kept ?? this.#add(this.#create(settings, 'all', vectors, slots));
  }

  /** A version of its own that has learned nothing, or exactly what `from` has. */
  own(
    settings: PolicySettings,
    learning: Learning,
    from: LearnerVersion | null,
    vectors: ToolVectors,
    slots: Iterable<number>,
  ): LearnerVersion {
    if (from === null) return this.#add(this.#create(settings, learning, vectors, slots));
    // Through bytes: what `save` gives may still belong to the one that is copied.
    const copy = decodeLearner(encodeLearner(from.policy.save()));
    const policy = this.#load(settings, copy, vectors);
    return this.#add({ version: this.#nextName(settings), settings, learning, policy });
  }

  /** Takes a version in as it was encoded elsewhere. */
  adopt(version: string, settings: PolicySettings, bytes: Uint8Array, vectors: ToolVectors): void {
    const policy = this.#load(settings, decodeLearner(bytes), vectors);
    this.#add({ version, settings, learning: 'all', policy });
  }

  /** Lets go of all others; the first of these is the active one. */
  keepOnly(versions: readonly string[]): void {
    this.#active = versions[0];
    for (const old of [...this.#versions.keys()]) if (!versions.includes(old)) this.#release(old);
  }

  /** Whether two settings are of one version: they learn the same from the same, however they explore. */
  sameLearner(a: PolicySettings, b: PolicySettings): boolean {
    return identityOf(a) === identityOf(b);
  }

  /** A pinned version is not let go, however many others there are. */
  pin(version: string): void {
    this.#pins.set(version, (this.#pins.get(version) ?? 0) + 1);
  }

  unpin(version: string): void {
    const pins = (this.#pins.get(version) ?? 0) - 1;
    if (pins > 0) this.#pins.set(version, pins);
    else this.#pins.delete(version);
    this.#letGo();
  }

  /** Another embedder: everything learned is bound to the old one. Starts the active settings anew. */
  startAnew(vectors: ToolVectors, slots: Iterable<number>): void {
    const { settings } = this.active;
    for (const version of [...this.#versions.keys()]) this.#release(version);
    this.#pins.clear();
    this.activate(settings, vectors, slots);
  }

  save(): {
    created: number;
    active: string;
    pins: [string, number][];
    versions: (Omit<LearnerVersion, 'policy'> & { state: LearnerState })[];
  } {
    const versions = [...this.#versions.values()].map(({ policy, ...version }) => ({
      ...version,
      state: policy.save(),
    }));
    return { created: this.#created, active: this.#active, pins: [...this.#pins], versions };
  }

  restore(saved: ReturnType<Learners['save']>, vectors: ToolVectors): void {
    this.free();
    this.#created = saved.created;
    this.#active = saved.active;
    for (const [version, pins] of saved.pins) this.#pins.set(version, pins);
    for (const { state, ...version } of saved.versions) {
      this.#add({ ...version, policy: this.#load(version.settings, state, vectors) });
    }
  }

  free(): void {
    for (const version of [...this.#versions.keys()]) this.#release(version);
  }

  #use(version: LearnerVersion): LearnerVersion {
    // Re-inserted last, so that the first one is always the one that has not been used for longest.
    this.#versions.delete(version.version);
    this.#add(version);
    this.#active = version.version;
    this.#letGo();
    return version;
  }

  #add(version: LearnerVersion): LearnerVersion {
    this.#versions.set(version.version, version);
    return version;
  }

  #letGo(): void {
    let spare =
      this.#versions.size - this.#pins.size - KEPT_VERSIONS - (this.#pins.has(this.#active) ? 0 : 1);
    for (const old of [...this.#versions.keys()]) {
      if (spare <= 0) break;
      if (old === this.#active || this.#pins.has(old)) continue;
      this.#release(old);
      spare--;
    }
  }

  #load(settings: PolicySettings, state: LearnerState, vectors: ToolVectors): Policy {
    return loadPolicy(settings.name, { ...this.#context, vectors, parameters: settings.parameters }, state);
  }

  #nextName({ name }: PolicySettings): string {
    this.#created++;
    return `${name}@${this.#created}`;
  }

  #create(
    settings: PolicySettings,
    learning: Learning,
    vectors: ToolVectors,
    slots: Iterable<number>,
  ): LearnerVersion {
    const policy = createPolicy(settings.name, {
      ...this.#context,
      vectors,
      parameters: settings.parameters,
    });
    for (const slot of slots) policy.addTool(slot);
    return { version: this.#nextName(settings), settings, learning, policy };
  }

  #release(version: string): void {
    this.#versions.get(version)?.policy.free();
    this.#versions.delete(version);
  }
}

function isOf(assignment: Assignment, { experiment, variant }: Exclude<Learning, string>): boolean {
  return assignment.experiment === experiment && assignment.variant === variant;
}

function identityOf(settings: PolicySettings): string {
  return JSON.stringify([settings.name, Object.entries(settings.parameters).sort()]);
}
