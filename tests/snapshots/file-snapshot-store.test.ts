import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { StoreUnavailableError } from '../../src/errors/store-errors.ts';
import { FileLeases } from '../../src/snapshots/file-leases.ts';
import { FileSnapshotStore, FileSnapshotStores } from '../../src/snapshots/file-snapshot-store.ts';
import { StaleFenceError, snapshotLease } from '../../src/snapshots/snapshot-store.ts';
import { leaseContract } from '../contracts/lease.contract.ts';
import { snapshotStoreContract } from '../contracts/snapshot-store.contract.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';

const root = temporaryFolder();
const newFolder = (): string => join(root, randomUUID());

async function grantLease(dataDir: string, catalog: string): Promise<number> {
  const lease = await new FileLeases(dataDir).acquire(snapshotLease(catalog));
  await lease?.release(); // so that the next one can be given out at once
  return lease!.fence;
}

/** A process that takes a lease and is killed. */
async function holdAndDie(dataDir: string, name: string): Promise<{ readonly fence: number }> {
  const module = new URL('../../dist/src/snapshots/file-leases.js', import.meta.url).href;
  const script = `const { FileLeases } = await import(${JSON.stringify(module)});
    const lease = await new FileLeases(${JSON.stringify(dataDir)}).acquire(${JSON.stringify(name)});
    console.log(lease.fence); setInterval(() => {}, 1e6);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'close');
  return { fence: Number(said) };
}

snapshotStoreContract('FileSnapshotStores', async () => {
  const dataDir = newFolder();
  return {
    connect: async () => new FileSnapshotStores(dataDir),
    grantLease: (catalog) => grantLease(dataDir, catalog),
    dispose: async () => {},
  };
});

leaseContract('FileLeases', async () => {
  const dataDir = newFolder();
  return {
    connect: async () => new FileLeases(dataDir),
    holdAndDie: (name) => holdAndDie(dataDir, name),
    dispose: async () => {},
  };
});

afterEach(() => vi.restoreAllMocks());

describe('FileSnapshotStore', () => {
  it('leaves no trace of a snapshot that did not fit on the disk', async () => {
    const dataDir = newFolder();
    const fence = await grantLease(dataDir, 'default');
    const store = await new FileSnapshotStores(dataDir).open('default');
    await store.put({ position: 1, bytes: Buffer.from('one') }, fence, 3);
    const handle = await open(root, 'r');
    const full = Object.assign(new Error('full'), { code: 'ENOSPC' });
    vi.spyOn(Object.getPrototypeOf(handle), 'write').mockRejectedValueOnce(full);
    await handle.close();
    await expect(store.put({ position: 2, bytes: Buffer.from('two') }, fence, 3)).rejects.toThrow(
      StoreUnavailableError,
    );
    expect(await store.list()).toEqual([1]);
    expect(readdirSync(join(dataDir, 'catalogs/default/snapshots'))).toHaveLength(1);
    await store.put({ position: 2, bytes: Buffer.from('two') }, fence, 3);
    expect(await store.list()).toEqual([2, 1]);
  });

  it('looks at the lease again once the bytes are on disk: that may have taken long', async () => {
    const dataDir = newFolder();
    await new FileSnapshotStores(dataDir).open('default');
    const folder = join(dataDir, 'catalogs/default/snapshots');
    const fences = [1, 2];
    const store = new FileSnapshotStore(folder, async () => fences.shift()!);
    await expect(store.put({ position: 1, bytes: Buffer.from('one') }, 1, 3)).rejects.toThrow(
      StaleFenceError,
    );
    expect(fences).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('creates no folder in order to look for the newest snapshot', async () => {
    const dataDir = newFolder();
    expect(await new FileSnapshotStores(dataDir).newest('default')).toBe(0);
    expect(existsSync(dataDir)).toBe(false);
  });

  it('clears away what a crash had left unfinished', async () => {
    const dataDir = newFolder();
    const fence = await grantLease(dataDir, 'default');
    const store = await new FileSnapshotStores(dataDir).open('default');
    const folder = join(dataDir, 'catalogs/default/snapshots');
    writeFileSync(join(folder, '0000000000000007.snapshot.1234.unfinished'), 'half');
    expect(await store.list()).toEqual([]);
    await store.put({ position: 1, bytes: Buffer.from('one') }, fence, 3);
    expect(readdirSync(folder)).toEqual(['0000000000000001.snapshot']);
  });
});
