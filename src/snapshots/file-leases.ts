import { join } from 'node:path';
import { type HeldLock, newestGeneration, takeLock } from '../storage/process-lock.ts';
import type { Lease, Leases } from './snapshot-store.ts';

/**
 * Leases as lock files in a data folder, under `leases`. A holder that died loses its lease at once, one on
 * another machine after 15 s of silence.
 */
export class FileLeases implements Leases {
  readonly #folder: string;
  readonly #held = new Set<HeldLock>();

  constructor(dataDir: string) {
    this.#folder = leasesFolder(dataDir);
  }

  async acquire(name: string): Promise<Lease | null> {
    const lock = await takeLock(this.#folder, name);
    if (!lock.held) return null;
    this.#held.add(lock);
    return {
      fence: lock.generation,
      lost: lock.lost,
      release: async () => {
        this.#held.delete(lock);
        await lock.release();
      },
    };
  }

  async close(): Promise<void> {
    for (const lock of this.#held) await lock.release();
    this.#held.clear();
  }
}

/** Returns the fence of the newest lease of this name in a data folder, of any holder; 0 if there never was one. */
export function newestFence(dataDir: string, name: string): Promise<number> {
  return newestGeneration(leasesFolder(dataDir), name);
}

function leasesFolder(dataDir: string): string {
  return join(dataDir, 'leases');
}
