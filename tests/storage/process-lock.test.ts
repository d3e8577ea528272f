import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { DataFolderLockedError, lockDataFolder } from '../../src/storage/data-folder.ts';
import { currentProcess, livenessOf } from '../../src/storage/process-identity.ts';
import { type HeldLock, newestGeneration, takeLock } from '../../src/storage/process-lock.ts';
import { temporaryFolder } from './temporary-folder.ts';

const root = temporaryFolder();
const newFolder = (): string => join(root, randomUUID());

async function held(folder: string, holder = currentProcess()): Promise<HeldLock> {
  const lock = await takeLock(folder, 'job', holder);
  if (!lock.held) throw new Error(`held by ${lock.holder?.pid}`);
  return lock;
}

/** A process that has ended and been waited for. */
async function endedProcess(): Promise<number> {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  return child.pid!;
}

/** A child that holds the lock of a data folder until it is killed. */
async function holderOf(folder: string): Promise<ChildProcess> {
  const module = new URL('../../dist/src/storage/data-folder.js', import.meta.url).href;
  const script = `const { lockDataFolder } = await import(${JSON.stringify(module)});
    await lockDataFolder(${JSON.stringify(folder)}); console.log('held'); setInterval(() => {}, 1e6);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

afterEach(() => {
  vi.useRealTimers();
});

describe('takeLock', () => {
  it('has one holder at a time, and numbers that only grow', async () => {
    const folder = newFolder();
    const first = await held(folder);
    expect(first.generation).toBe(1);
    expect(await takeLock(folder, 'job')).toMatchObject({ held: false, holder: { pid: process.pid } });
    expect((await takeLock(folder, 'another job')).held).toBe(true);
    await first.release();
    expect(first.lost.aborted).toBe(true);
    const second = await held(folder);
    expect(second.generation).toBe(2);
    expect(await newestGeneration(folder, 'job')).toBe(2);
    await second.release();
    await second.release();
    expect((await held(folder)).generation).toBe(3);
  });

  it('goes to exactly one of many who want it', async () => {
    const folder = newFolder();
    const dead = { ...currentProcess(), pid: await endedProcess() };
    await held(folder, dead);
    const locks = await Promise.all(Array.from({ length: 20 }, () => takeLock(folder, 'job')));
    const winners = locks.filter((lock) => lock.held);
    expect(winners).toHaveLength(1);
    expect(winners[0]).toMatchObject({ generation: 2 });
    expect(readdirSync(folder)).toEqual(['job.2.lock']);
  });

  it('is taken from a process that died, from an earlier boot, or from a number that was used again', async () => {
    const here = currentProcess();
    for (const gone of [
      { ...here, pid: await endedProcess() },
      { ...here, boot: 'an earlier one' },
      { ...here, started: '1' },
    ]) {
      expect(livenessOf(gone)).toBe('dead');
      const folder = newFolder();
      const lost = await held(folder, gone);
      expect((await held(folder)).generation).toBe(lost.generation + 1);
    }
  });

  it('believes a holder on another machine for 15 silent seconds', async () => {
    const folder = newFolder();
    await held(folder, { ...currentProcess(), host: 'elsewhere' });
    expect(await takeLock(folder, 'job')).toMatchObject({ held: false, holder: { host: 'elsewhere' } });
    const past = Date.now() / 1000 - 16;
    utimesSync(join(folder, 'job.1.lock'), past, past);
    expect((await held(folder)).generation).toBe(2);
  });

  it('treats a lock that cannot be read as somebody else’s', async () => {
    const folder = newFolder();
    mkdirSync(folder);
    writeFileSync(join(folder, 'job.7.lock'), '');
    expect(await takeLock(folder, 'job')).toMatchObject({ held: false, holder: null });
  });

  it.each([
    ['was succeeded', (folder: string) => writeFileSync(join(folder, 'job.9.lock'), '{}')],
    ['was deleted', (folder: string) => rm(join(folder, 'job.1.lock'))],
  ])('tells its holder when it %s', async (_, happen) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const folder = newFolder();
    const lock = await held(folder);
    vi.advanceTimersByTime(3_000);
    expect(lock.lost.aborted).toBe(false);
    await happen(folder);
    vi.advanceTimersByTime(3_000);
    await vi.waitFor(() => expect(lock.lost.aborted).toBe(true), { interval: 5 });
    await lock.release();
  });
});

describe('lockDataFolder', () => {
  it('refuses a second process with a sentence that names the first, and succeeds it when it was killed', async () => {
    const folder = newFolder();
    const child = await holderOf(folder);
    try {
      const error = await lockDataFolder(folder).catch((reason) => reason);
      expect(error).toBeInstanceOf(DataFolderLockedError);
      expect(error.message).toContain(`in use by process ${child.pid} on `);
      expect(error.message).toContain('BANDOLIER_DATA_DIR');
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    const lock = await lockDataFolder(folder);
    await lock.release();
    expect(JSON.parse(readFileSync(join(folder, 'in-use.2.lock'), 'utf8'))).toEqual({ holder: null });
  });

  it('finishes deletions that a crash interrupted', async () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'catalogs', 'default', '.removed-half', 'deep'), { recursive: true });
    const lock = await lockDataFolder(folder);
    expect(readdirSync(join(folder, 'catalogs', 'default'))).toEqual([]);
    await lock.release();
  });

  it('says so when the folder cannot be written', async () => {
    const file = join(root, 'a-file');
    writeFileSync(file, '');
    await expect(lockDataFolder(join(file, 'data'))).rejects.toThrow('cannot be used: ENOTDIR');
  });
});
