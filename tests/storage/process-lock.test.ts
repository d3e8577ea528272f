import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { DataFolderLockedError, lockDataFolder } from '../../src/storage/data-folder.ts';
import { currentProcess } from '../../src/storage/lock-holder.ts';
import { type HeldLock, newestGeneration, takeLock } from '../../src/storage/process-lock.ts';
import { LockLostError } from '../../src/storage/storage-errors.ts';
import { temporaryFolder } from './temporary-folder.ts';

const root = temporaryFolder();
const newFolder = (): string => join(root, randomUUID());

async function held(folder: string, holder = currentProcess()): Promise<HeldLock> {
  const lock = await takeLock(folder, 'job', holder);
  if (!lock.held) throw new Error(`held by ${lock.holder?.pid}`);
  return lock;
}

interface Holder {
  readonly child: ChildProcess;
  kill(): Promise<void>;
}

/** A child that holds the lock of a data folder until it is killed. */
async function holderOf(folder: string): Promise<Holder> {
  const module = new URL('../../dist/src/storage/data-folder.js', import.meta.url).href;
  const script = `const { lockDataFolder } = await import(${JSON.stringify(module)});
    await lockDataFolder(${JSON.stringify(folder)}); console.log('held'); setInterval(() => {}, 1e6);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await once(child, 'close');
  };
  return { child, kill };
}

/** As if its holder had not been heard of for so long. */
function makeSilent(lockFile: string): void {
  const past = Date.now() / 1000 - 16;
  utimesSync(lockFile, past, past);
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
    await (await holderOf(folder)).kill();
    const locks = await Promise.all(Array.from({ length: 20 }, () => takeLock(folder, 'in-use')));
    const winners = locks.filter((lock) => lock.held);
    expect(winners).toHaveLength(1);
    expect(winners[0]).toMatchObject({ generation: 2, predecessor: 'ended' });
    const left = readdirSync(folder).sort();
    expect(left).toEqual([expect.stringMatching(/^[0-9a-f]{12}\.sock$/), 'in-use.2.lock']);
  });

  it('believes a holder that is paused, however long it was not heard of', async () => {
    const folder = newFolder();
    const holder = await holderOf(folder);
    holder.child.kill('SIGSTOP');
    makeSilent(join(folder, 'in-use.1.lock'));
    const holds = { held: false, isAlive: true, holder: { pid: holder.child.pid } };
    expect(await takeLock(folder, 'in-use')).toMatchObject(holds);
    await holder.kill();
    expect(await takeLock(folder, 'in-use')).toMatchObject({ held: true, predecessor: 'ended' });
  });

  it('is taken at once from a process that could not say that it ended, with the care that a living one needs', async () => {
    const folder = newFolder();
    const lock = await held(folder);
    rmSync(join(folder, readdirSync(folder).find((name) => name.endsWith('.sock'))!));
    expect(await held(folder)).toMatchObject({ generation: 2, predecessor: 'silent' });
    expect(() => lock.verify()).toThrow(LockLostError);
    await lock.release();
  });

  it('can be asked for in a folder whose path is longer than an address may be', async () => {
    const folder = join(newFolder(), 'a'.repeat(120), 'b'.repeat(120));
    const lock = await held(folder);
    expect(await takeLock(folder, 'job')).toMatchObject({ held: false, isAlive: true });
    await lock.release();
    expect(readdirSync(folder)).toEqual(['job.1.lock']);
    expect(await held(folder)).toMatchObject({ generation: 2, predecessor: 'ended' });
  });

  it('believes a holder on another machine for 15 silent seconds', async () => {
    const folder = newFolder();
    const lock = await held(folder, { ...currentProcess(), kernel: 'another', host: 'elsewhere' });
    const heardOf = { held: false, isAlive: false, holder: { host: 'elsewhere' } };
    expect(await takeLock(folder, 'job')).toMatchObject(heardOf);
    lock.verify();
    makeSilent(join(folder, 'job.1.lock'));
    expect(await held(folder)).toMatchObject({ generation: 2, predecessor: 'silent' });
    expect(() => lock.verify()).toThrow(LockLostError);
    expect(lock.lost.reason).toBeInstanceOf(LockLostError);
  });

  it('treats a lock that cannot be read as one of another process', async () => {
    const folder = newFolder();
    mkdirSync(folder);
    writeFileSync(join(folder, 'job.7.lock'), '');
    expect(await takeLock(folder, 'job')).toMatchObject({ held: false, holder: null, isAlive: false });
  });

  it.each([
    ['was succeeded', (folder: string) => writeFileSync(join(folder, 'job.9.lock'), '{}')],
    ['was deleted', (folder: string) => rm(join(folder, 'job.1.lock'))],
  ])('tells its holder when it %s', async (_, happen) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
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
    const holder = await holderOf(folder);
    const error = await lockDataFolder(folder).catch((reason) => reason);
    expect(error).toBeInstanceOf(DataFolderLockedError);
    expect(error.message).toContain(`in use by process ${holder.child.pid} on `);
    expect(error.message).toContain('BANDOLIER_DATA_DIR');
    await holder.kill();
    const lock = await lockDataFolder(folder);
    await lock.release();
    expect(JSON.parse(readFileSync(join(folder, 'in-use.2.lock'), 'utf8'))).toEqual({ holder: null });
  });

  it('says when a folder is free whose holder cannot be asked', async () => {
    const folder = newFolder();
    mkdirSync(folder);
    const holder = { pid: 7, host: 'elsewhere', kernel: 'another', socket: null };
    writeFileSync(join(folder, 'in-use.3.lock'), JSON.stringify({ holder }));
    await expect(lockDataFolder(folder)).rejects.toThrow('is free 15 seconds after its last sign of life');
  });

  it('closes a folder that was open to others, and says so', async () => {
    const folder = newFolder();
    mkdirSync(folder);
    chmodSync(folder, 0o755);
    const notices: string[] = [];
    const lock = await lockDataFolder(folder, (message) => notices.push(message));
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(notices).toEqual([expect.stringContaining('was open to other users')]);
    await lock.release();
    notices.length = 0;
    await (await lockDataFolder(folder, (message) => notices.push(message))).release();
    expect(notices).toEqual([]);
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
    await expect(lockDataFolder(join(file, 'data'))).rejects.toThrow(
      'a file is where a folder has to be (ENOTDIR)',
    );
  });
});
