import { crc32 } from 'node:zlib';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { decodeLearner } from '../../bandit/learner-codec.ts';
import type { ToolVectors } from '../../bandit/tool-vectors.ts';
import type { PolicySettings } from '../ledger/catalog-settings.ts';
import type { Assignment, BoundEmbedder } from '../ledger/entry.ts';
import {
  copyOf,
  hasLearned,
  type LearnerContext,
  type LearnerVersion,
  type Learning,
  learnsFrom,
  PolicyLoader,
  type SavedLearners,
} from './learner-version.ts';
import { identityOf } from './policy-settings.ts';

/** Number of versions that are kept beside the active one, so that going back loses nothing. */
const KEPT_VERSIONS = 3;

/** Number of earlier embedders of which the version that was active last is kept. */
const KEPT_EMBEDDERS = 3;

/**
 * Keeps the policies of one catalog, one learner per version. A version is in one of these states:
 *
 * - *active*: it ranks and learns; always exactly one.
 * - *kept*: it goes on learning. The three that were used last are kept, and those in use (`acquire`).
 * - *waiting*, for its embedder (`bind`): it neither ranks nor learns, but units and tools are erased from it.
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

  /** The embedder whose vectors the catalog has. */
  get embedder(): BoundEmbedder {
    return this.#embedder;
  }

  /** The kernels that all learners compute with. */
  get kernels(): Kernels {
    return this.#loader.context.kernels;
  }

  get active(): LearnerVersion {
    const active = this.#versions.get(this.#active);
    if (active === undefined) throw new Error('the catalog has no active policy');
    return active;
  }

  /** Returns all versions, the waiting ones included. */
  all(): IterableIterator<LearnerVersion> {
    return this.#versions.values();
  }

  /** Returns the versions of the present embedder, which can rank and learn. */
  current(): LearnerVersion[] {
    return [...this.#versions.values()].filter((version) => this.#isCurrent(version));
  }

  get(version: string): LearnerVersion | undefined {
    return this.#versions.get(version);
  }

  /** Yields the versions that learn from a decision with these assignments. */
  *taughtBy(assignments: readonly Assignment[] = []): Generator<LearnerVersion> {
    for (const learner of this.#versions.values()) {
      if (this.#isCurrent(learner) && learnsFrom(learner.learning, assignments)) yield learner;
    }
  }

  /**
   * Makes a version with these settings the active one: one that is kept, or else a new learner that knows the given slots and
   * has learned nothing. Settings that differ only in exploration have the same learner.
   */
  activate(settings: PolicySettings, vectors: ToolVectors, slots: Iterable<number>): LearnerVersion {
    return this.#use({ ...this.shared(settings, vectors, slots), settings });
  }

  /** Makes a version the active one; from now on it learns from everything. Returns null if it is not kept, or waits. */
  activateVersion(version: string, settings?: PolicySettings): LearnerVersion | null {
    const kept = this.#versions.get(version);
    if (kept === undefined || !this.#isCurrent(kept)) return null;
    return this.#use({ ...kept, settings: settings ?? kept.settings, learning: 'all' });
  }

  /** Returns a version with these settings that learns from everything: the active one, another that is kept, or a new one. */
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

  /** Returns a new version that has learned nothing, or exactly what `from` has. */
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

  /** Adds a version that was encoded elsewhere. */
  adopt(version: string, settings: PolicySettings, bytes: Uint8Array, vectors: ToolVectors): void {
    const policy = this.#loader.load(settings, decodeLearner(bytes, crc32), vectors);
    this.#add({ version, settings, learning: 'all', embedder: this.#embedder, policy });
  }

  /** Discards all other versions and makes the first of these the active one. */
  keepOnly(versions: readonly string[]): void {
    this.#active = versions[0];
    for (const old of [...this.#versions.keys()]) if (!versions.includes(old)) this.#discard(old);
  }

  /** Keeps a version until it was released as often as it was acquired. */
  acquire(version: string): void {
    this.#uses.set(version, (this.#uses.get(version) ?? 0) + 1);
  }

  release(version: string): void {
    const uses = (this.#uses.get(version) ?? 0) - 1;
    if (uses > 0) this.#uses.set(version, uses);
    else this.#uses.delete(version);
    this.#dropUnused();
  }

  /** Sets the name of the embedder, of which the model stays the same; or the first embedder. */
  rename(embedder: BoundEmbedder): void {
    for (const version of this.current()) this.#versions.set(version.version, { ...version, embedder });
    this.#embedder = embedder;
  }

  /**
   * Changes the embedder. Of the present versions the active one waits if it has learned anything, and the others are discarded.
   * Versions that waited for this embedder learn again, and `version`, or one with the present settings, becomes active.
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
    return { ...this.summary(), versions };
  }

  /** What is saved beside the versions. */
  summary(): Omit<SavedLearners, 'versions'> {
    return { created: this.#created, active: this.#active, uses: [...this.#uses] };
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
    // Inserted again at the end, so that the first one is the one that was used longest ago.
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
