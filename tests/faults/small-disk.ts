import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A disk of a few megabytes, in memory; null where this user may not mount one. */
export function mountSmallDisk(megabytes: number): SmallDisk | null {
  const path = mkdtempSync(join(tmpdir(), 'bandolier-disk-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path]);
  if (status === 0) return new SmallDisk(path);
  rmSync(path, { recursive: true });
  return null;
}

export class SmallDisk {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Takes up all the space that is left. */
  fill(): void {
    const file = openSync(this.#ballast, 'a');
    try {
      for (const bytes of [1 << 20, 1 << 12, 1]) this.#writeUntilFull(file, Buffer.alloc(bytes));
    } finally {
      closeSync(file);
    }
  }

  /** Gives back what `fill` took. */
  relieve(): void {
    rmSync(this.#ballast);
  }

  remove(): void {
    spawnSync('umount', ['--lazy', this.path]);
    rmSync(this.path, { recursive: true });
  }

  get #ballast(): string {
    return join(this.path, 'ballast');
  }

  #writeUntilFull(file: number, bytes: Buffer): void {
    try {
      while (writeSync(file, bytes) > 0);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}
