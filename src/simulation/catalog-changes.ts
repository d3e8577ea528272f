import { randomFor } from '../../bandit/random.ts';

/** Changes of the catalog during a simulation. All shares are 0…1 of the tools. */
export interface CatalogChanges {
  /** Share of the tools that are removed for the middle third. */
  readonly removedShare: number;
  /** Number of tools that appear at half. */
  readonly newcomers: number;
  /** Share of the tools that swap their meaning in pairs at half: what fitted one fits the other from then on. */
  readonly driftShare: number;
}

export const NO_CHANGES: CatalogChanges = { removedShare: 0, newcomers: 0, driftShare: 0 };

/** Which tools are removed, added and changed in a simulation. */
export interface Casting {
  readonly removed: ReadonlySet<string>;
  readonly newcomers: ReadonlySet<string>;
  /** The tool that has a tool's meaning after the drift. */
  readonly successors: ReadonlyMap<string, string>;
}

/** Chooses the tools of the changes. @throws RangeError when there are not enough tools for the changes. */
export function castingOf(names: readonly string[], changes: CatalogChanges, key: string): Casting {
  const removed = Math.floor(changes.removedShare * names.length);
  if (removed + changes.newcomers > names.length) {
    throw new RangeError(
      `${names.length} tools are too few for ${removed} removed and ${changes.newcomers} new ones.`,
    );
  }
  const order = shuffled(names, `${key}/changes`);
  const swapped = shuffled(names, `${key}/drift`).slice(
    0,
    2 * Math.floor((changes.driftShare * names.length) / 2),
  );
  const half = swapped.length / 2;
  return {
    removed: new Set(order.slice(0, removed)),
    newcomers: new Set(order.slice(removed, removed + changes.newcomers)),
    successors: new Map(swapped.map((name, i) => [name, swapped[(i + half) % swapped.length]])),
  };
}

/** Returns a copy in random order (Fisher & Yates). */
export function shuffled<T>(items: readonly T[], key: string): T[] {
  const random = randomFor(key);
  const order = [...items];
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(random.uniform(i) * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}
