import { randomUUID } from 'node:crypto';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { policyParameters } from '../../bandit/policies/registry.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { refusingUnusable } from '../catalog/embedders.ts';
import { Problem } from '../errors/problem.ts';
import type { PolicySettings } from '../ledger/catalog-settings.ts';
import type { SnapshotStores } from '../snapshots/snapshot-store.ts';
import type { LearnerVersion, Learning } from '../state/learner-version.ts';
import { snapshotSummary } from '../state/snapshot-codec.ts';
import { bringBack } from './bring-back.ts';

/** A version of the policy that is kept. */
export interface VersionView {
  readonly version: string;
  readonly active: boolean;
  readonly settings: PolicySettings;
  /** From which decisions it learns. */
  readonly learning: Learning;
  /** The embedding model that it was learned with. While the catalog has another one, it waits and learns nothing. */
  readonly embedder: string | null;
  readonly waits: boolean;
  /** Experiments that run it. */
  readonly experiments: readonly string[];
  /** Rewards and cases that it has learned. */
  readonly updates: number;
  readonly cases: number;
}

/** Settings in which two versions differ; parameters are complete, with defaults filled in. */
export interface VersionDifferences {
  readonly from: string;
  readonly to: string;
  readonly differences: readonly {
    readonly setting: string;
    readonly from: string | number | null;
    readonly to: string | number | null;
  }[];
}

export interface SnapshotView {
  readonly position: number;
  readonly at: string;
  /** The version that was active then, and whether it is still kept. */
  readonly version: string;
  readonly kept: boolean;
}

/** Lists and activates the versions of a catalog's policy. Every change makes one; going back to one that is kept loses nothing. */
export class PolicyVersions {
  readonly #catalogs: Pick<Catalogs, 'get' | 'holding'>;
  readonly #snapshots: SnapshotStores;
  readonly #kernels: Kernels;

  constructor(catalogs: Pick<Catalogs, 'get' | 'holding'>, snapshots: SnapshotStores, kernels: Kernels) {
    this.#catalogs = catalogs;
    this.#snapshots = snapshots;
    this.#kernels = kernels;
  }

  /** Returns the versions, the one that was used last first. */
  list(catalog: string): VersionView[] {
    const open = this.#catalogs.get(catalog);
    return [...open.state.learners.all()].reverse().map((version) => viewOf(version, open));
  }

  get(catalog: string, version: string): VersionView {
    const open = this.#catalogs.get(catalog);
    return viewOf(this.#find(open, version), open);
  }

  differences(catalog: string, from: string, to: string): VersionDifferences {
    const open = this.#catalogs.get(catalog);
    const before = flat(this.#find(open, from).settings);
    const after = flat(this.#find(open, to).settings);
    const settings = [...new Set([...before.keys(), ...after.keys()])];
    return {
      from,
      to,
      differences: settings
        .map((setting) => ({ setting, from: before.get(setting) ?? null, to: after.get(setting) ?? null }))
        .filter((difference) => difference.from !== difference.to),
    };
  }

  /** Makes a version the active one; nothing that was learned meanwhile is lost. */
  async activate(catalog: string, version: string, actor?: string): Promise<VersionView> {
    await this.#catalogs.holding(catalog, (open) => this.#activate(open, version, actor));
    return this.get(catalog, version);
  }

  async #activate(open: Catalog, version: string, actor: string | undefined): Promise<void> {
    const { embedder } = this.#find(open, version);
    const outcome =
      embedder.fingerprint === open.state.fingerprint
        ? await open.replica.submit({
            kind: 'version',
            key: `version/${randomUUID()}`,
            at: open.now(),
            version,
            ...(actor !== undefined && { actor }),
          })
        : await refusingUnusable(() => open.bindVersion(version, embedder));
    if (outcome.kind === 'version-unknown' || outcome.kind === 'embedder-refused') {
      throw unknownVersion(open, version);
    }
  }

  /** Returns the snapshots, newest first. It reads each of them until `giveUp` aborts. */
  snapshots(catalog: string, giveUp?: AbortSignal): Promise<SnapshotView[]> {
    return this.#catalogs.holding(catalog, (open) => this.#list(open, giveUp));
  }

  async #list(open: Catalog, giveUp?: AbortSignal): Promise<SnapshotView[]> {
    const store = await this.#snapshots.open(open.name);
    const views: SnapshotView[] = [];
    for (const position of await store.list()) {
      giveUp?.throwIfAborted();
      const stored = await store.get(position);
      if (stored === null) continue;
      const { clock, active } = snapshotSummary(stored.bytes);
      const kept = open.state.learners.get(active) !== undefined;
      views.push({ position, at: new Date(clock).toISOString(), version: active, kept });
    }
    return views;
  }

  /**
   * Makes the version active that was active when this snapshot was made. If it is kept, it has gone on learning; if not, its
   * learner is taken from the snapshot, and everything that was observed since is folded into it.
   */
  async restore(catalog: string, position: number, actor?: string): Promise<VersionView> {
    const version = await this.#catalogs.holding(catalog, (open) => this.#restorable(open, position));
    return this.activate(catalog, version, actor);
  }

  /** Returns the version of a snapshot, restored if it is not kept. */
  async #restorable(open: Catalog, position: number): Promise<string> {
    const { name } = open;
    const snapshot = (await this.#list(open)).find((other) => other.position === position);
    if (snapshot === undefined) {
      throw new Problem(
        'snapshot-not-found',
        `Catalog "${name}" has no snapshot ${position}.`,
        `GET /v1/catalogs/${name}/snapshots lists those that are kept.`,
      );
    }
    if (!snapshot.kept) await bringBack(open, await this.#snapshots.open(name), snapshot, this.#kernels);
    return snapshot.version;
  }

  #find(catalog: Catalog, version: string): LearnerVersion {
    const found = catalog.state.learners.get(version);
    if (found === undefined) throw unknownVersion(catalog, version);
    return found;
  }
}

function viewOf(
  { version, settings, learning, policy, embedder }: LearnerVersion,
  { state }: Catalog,
): VersionView {
  const { updates, cases } = policy.sizeInBytes();
  const experiments = state.experiments
    .all()
    .filter((record) => record.status === 'running')
    .filter((record) => [...record.variants.values()].some((variant) => variant.version === version));
  return {
    version,
    active: state.learners.active.version === version,
    settings,
    learning,
    embedder: embedder.model,
    waits: embedder.fingerprint !== state.fingerprint,
    experiments: experiments.map(({ definition }) => definition.name),
    updates,
    cases,
  };
}

function flat({ name, parameters, exploration, temperature }: PolicySettings): Map<string, string | number> {
  const complete = Object.entries(policyParameters(name, parameters));
  return new Map<string, string | number>([
    ['name', name],
    ['exploration', exploration],
    ['temperature', temperature],
    ...complete.map(([parameter, value]) => [`parameters.${parameter}`, value] as const),
  ]);
}

function unknownVersion({ name }: Catalog, version: string): Problem {
  return new Problem(
    'version-not-found',
    `Catalog "${name}" does not keep a version "${version}" of its policy.`,
    `GET /v1/catalogs/${name}/policies lists those that are kept.`,
  );
}
