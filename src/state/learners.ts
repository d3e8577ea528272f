import { crc32 } from 'node:zlib';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { decodeLearner } from '../../bandit/learner-codec.ts';
import type { ToolVectors } from '../../bandit/tool-vectors.ts';
import type { PolicySettings } from '../ledger/catalog-settings.ts';
import type { Assignment, BoundEmbedder } from '../ledger/entry.ts';
import {
  copyOf,
  hasLearned,
  identityOf,
  type LearnerContext,
  type LearnerVersion,
  type Learning,
  learnsFrom,
  PolicyLoader,
  type SavedLearners,
} from './learner-version.ts';

/** Versions beside the active one that are kept, so that going back loses nothing. */
const KEPT_VERSIONS = 3;

/** Earlier embedders to go back to: of each the version that was active last. */
const KEPT_EMBEDDERS = 3;

/**
 * The policies of one catalog, one learner per version; exactly one is active. Those of earlier embedders wait: they
 * neither rank nor learn, but forget what is to be forgotten.
 */
export class Learners {
  readonly #loader: PolicyLoader;
  readonly #versions = new Map<string, LearnerVersion>();
  /** Versions that are in use (by experiments), and how often. */
  readonly #uses = new Map<string, number>();
  #embedder: BoundEmbedder;
  #created = 0;
  #active = '';

  constructor(context: LearnerContext, embedder: BoundEmbedder) {
    this.#loader = new PolicyLoader(context);
    this.#embedder = embedder;
  }

  /** The one whose vectors the catalog has. */
  get embedder(): BoundEmbedder {
    return this.#embedder;
  }

  /** What all of them compute with. */
  get kernels(): Kernels {
    return this.#loader.context.kernels;
  }

  get active(): LearnerVersion {
    const active = this.#versions.get(this.#active);
    if (active === undefined) throw new Error('a catalog without an active policy was asked to rank');
    return active;
  }

  /** Everything that is kept, what waits included. */
  all(): IterableIterator<LearnerVersion> {
    return this.#versions.values();
  }

  /** Those of the embedder of now: they can rank and learn. */
  current(): LearnerVersion[] {
    return [...this.#versions.values()].filter((version) => this.#isCurrent(version));
  }

  get(version: string): LearnerVersion | undefined {
    return this.#versions.get(version);
  }

  /** The versions that a decision with these assignments teaches. */
  *taughtBy(assignments: readonly Assignment[] = []): Generator<LearnerVersion> {
    for (const learner of this.#versions.values()) {
      if (this.#isCurrent(learner) && learnsFrom(learner.learning, assignments)) yield learner;
    }
  }

  /**
   * Makes the version with these settings the active one: one that is kept if there is such a one, else a new
   * learner that knows the given slots and has learned nothing. Exploration is no part of a version's identity.
   */
  activate(settings: PolicySettings, vectors: ToolVectors, slots: Iterable<number>): LearnerVersion {
    return this.#use({ ...this.shared(settings, vectors, slots), settings });
  }

  /** Makes a version the active one; from now on it learns from everything. Null if it is not kept, or waits. */
  activateVersion(version: string, settings?: PolicySettings): LearnerVersion | null {
    const kept = this.#versions.get(version);
    if (kept === undefined || !this.#isCurrent(kept)) return null;
    return this.#use({ ...kept, settings: settings ?? kept.settings, learning: 'all' });
  }

  /** A version with these settings that learns from everything: the active one, another that is kept, or a new one. */
  shared(settings: PolicySettings, vectors: ToolVectors, slots: Iterable<number>): LearnerVersion {
    const identity = identityOf(settings);
    const candidates = this.current().reverse();
    const kept =
      candidates.find(
        ({ version, settings: own }) => version === this.#active && identityOf(own) === identity,
      ) ??
      candidates.find(({ learning, settings: own }) => learning === 'all' && identityOf(own) === identity);
    return kept ?? this.own(settings, 'all', null, vectors, slots);
  }

  /** A version of its own that has learned nothing, or exactly what `from` has. */
  own(
    settings: PolicySettings,
    learning: Learning,
    from: LearnerVersion | null,
    vectors: ToolVectors,
    slots: Iterable<number>,
  ): LearnerVersion {
    const policy =
      from === null
        ? this.#loader.create(settings, vectors, slots)
        : this.#loader.load(settings, copyOf(from.policy), vectors);
    this.#created++;
    const version = `${settings.name}@${this.#created}`;
    return this.#add({ version, settings, learning, embedder: this.#embedder, policy });
  }

  /** Takes a version in as it was encoded elsewhere. */
  adopt(version: string, settings: PolicySettings, bytes: Uint8Array, vectors: ToolVectors): void {
    const policy = this.#loader.load(settings, decodeLearner(bytes, crc32), vectors);
    this.#add({ version, settings, learning: 'all', embedder: this.#embedder, policy });
  }

  /** Discards all other versions and makes the first of these the active one. */
  keepOnly(versions: readonly string[]): void {
    this.#active = versions[0];
    for (const old of [...this.#versions.keys()]) if (!versions.includes(old)) this.#discard(old);
  }

  /** Keeps a version, however many others there are, until it was released as often as it was acquired. */
  acquire(version: string): void {
    this.#uses.set(version, (this.#uses.get(version) ?? 0) + 1);
  }

  release(version: string): void {
    const uses = (this.#uses.get(version) ?? 0) - 1;
    if (uses > 0) this.#uses.set(version, uses);
    else this.#uses.delete(version);
    this.#dropUnused();
  }

  /** The model is the same, its name is another one; or it is the first, and there was none to learn about. */
  rename(embedder: BoundEmbedder): void {
    for (const version of this.current()) this.#versions.set(version.version, { ...version, embedder });
    this.#embedder = embedder;
  }

  /**
   * Another embedder: of what was learned about the vectors of the one before the active version waits, what waited
   * for this one goes on, and a version becomes the active one.
   */
  bind(embedder: BoundEmbedder, vectors: ToolVectors, slots: Iterable<number>, version?: string): void {
    const { active } = this;
    for (const learner of this.current()) {
      if (learner === active && hasLearned(learner)) this.#park(learner);
      else this.#discard(learner.version);
    }
    this.#uses.clear();
    this.#embedder = embedder;
    for (const learner of this.current()) this.#wake(learner, vectors);
    for (const old of this.#loader.waiting.slice(0, -KEPT_EMBEDDERS)) this.#discard(old);
    if (version === undefined) this.activate(active.settings, vectors, slots);
    else this.activateVersion(version);
  }

  save(): SavedLearners {
    const versions = [...this.#versions.values()].map(({ policy, ...version }) => ({
      ...version,
      state: policy.save(),
    }));
    return { created: this.#created, active: this.#active, uses: [...this.#uses], versions };
  }

  restore(saved: SavedLearners, vectors: ToolVectors): void {
    this.free();
    this.#created = saved.created;
    this.#active = saved.active;
    for (const [version, uses] of saved.uses) this.#uses.set(version, uses);
    for (const { state, ...version } of saved.versions) {
      const isCurrent = this.#isCurrent(version);
      const policy = isCurrent
        ? this.#loader.load(version.settings, state, vectors)
        : this.#loader.loadWaiting(version, state);
      this.#add({ ...version, policy });
    }
  }

  free(): void {
    for (const version of [...this.#versions.keys()]) this.#discard(version);
  }

  #isCurrent({ embedder }: Pick<LearnerVersion, 'embedder'>): boolean {
    return embedder.fingerprint === this.#embedder.fingerprint;
  }

  #park(learner: LearnerVersion): void {
    const state = copyOf(learner.policy);
    learner.policy.free();
    this.#versions.set(learner.version, { ...learner, policy: this.#loader.loadWaiting(learner, state) });
  }

  #wake(learner: LearnerVersion, vectors: ToolVectors): void {
    const state = copyOf(learner.policy);
    this.#loader.free(learner);
    const policy = this.#loader.load(learner.settings, state, vectors);
    this.#versions.set(learner.version, { ...learner, embedder: this.#embedder, policy });
  }

  #use(version: LearnerVersion): LearnerVersion {
    // Re-inserted last, so that the first one is always the one that has not been used for longest.
    this.#versions.delete(version.version);
    this.#add(version);
    this.#active = version.version;
    this.#dropUnused();
    return version;
  }

  #add(version: LearnerVersion): LearnerVersion {
    this.#versions.set(version.version, version);
    return version;
  }

  #dropUnused(): void {
    const all = this.current();
    let spare = all.length - this.#uses.size - KEPT_VERSIONS - (this.#uses.has(this.#active) ? 0 : 1);
    for (const { version } of all) {
      if (spare <= 0) break;
      if (version === this.#active || this.#uses.has(version)) continue;
      this.#discard(version);
      spare--;
    }
  }

  #discard(version: string): void {
    const released = this.#versions.get(version);
    this.#versions.delete(version);
    if (released !== undefined) this.#loader.free(released);
  }
}
