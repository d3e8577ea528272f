import { mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import { readSettings } from '../../config/read-settings.ts';
import { openCore } from '../../src/service/core.ts';
import { startService } from '../../src/service/service.ts';
import { DataFolderLockedError } from '../../src/storage/data-folder.ts';
import { Closers } from '../../src/stores/closers.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';

const root = temporaryFolder();
const newFolder = () => mkdtempSync(join(root, 'data-'));
const log = pino({ level: 'silent' });
const settingsFor = (dataDir: string, more: Record<string, string> = {}) =>
  readSettings({
    environment: { BANDOLIER_DATA_DIR: dataDir, BANDOLIER_MODEL: 'none', ...more },
    folder: dataDir,
  }).settings;
const failing = (message: string) => async () => {
  throw new Error(message);
};

describe('Closers', () => {
  it('closes in the opposite order, each part once, and also what comes after one that fails', async () => {
    const order: string[] = [];
    const onError = vi.fn();
    const closers = new Closers(onError);
    closers.add(() => void order.push('first'));
    closers.add(failing('second failed'));
    closers.add(async () => void order.push('third'));
    closers.add(() => expect.fail('fourth failed'));
    await expect(closers.close()).rejects.toThrow('fourth failed');
    expect(order).toEqual(['third', 'first']);
    expect(onError.mock.calls.map(([, error]) => error.message)).toEqual(['second failed']);
    await closers.close();
    expect(order).toHaveLength(2);
  });
});

describe('openCore', () => {
  it('releases the data folder when something cannot be opened or closed, and reports what could not be opened', async () => {
    const settings = settingsFor(newFolder());
    const opening = openCore(settings, log, async ({ onClose }) => {
      onClose(failing('could not be closed'));
      return failing('could not be opened')();
    });
    await expect(opening).rejects.toThrow('could not be opened');
    const { close } = await openCore(settings, log, async ({ onClose }) => {
      await expect(openCore(settings, log, async () => ({}))).rejects.toThrow(DataFolderLockedError);
      onClose(failing('could not be closed'));
      return {};
    });
    await expect(close()).rejects.toThrow('could not be closed');
    await (await openCore(settings, log, async () => ({}))).close();
  });
});

it('a service that closes leaves a snapshot of what the next one would fold for long', async () => {
  const folder = newFolder();
  const service = await startService(settingsFor(folder), log);
  const tool = (n: number) => ({ name: `t${n}`, description: 'does something', inputSchema: {} });
  const add = (n: number) => service.tools.patch('default', { put: [tool(n)] });
  await Promise.all(Array.from({ length: 200 }, (_, n) => add(n)));
  const { position } = await service.catalogs.digest('default');
  await service.close();
  const snapshots = readdirSync(join(folder, 'catalogs', 'default', 'snapshots'));
  expect(snapshots).toEqual([`${String(position).padStart(16, '0')}.snapshot`]);
});

it('a service whose chat endpoint has no model does not start, and leaves nothing open', async () => {
  const folder = newFolder();
  const unusable = settingsFor(folder, { BANDOLIER_CHAT_URL: 'http://127.0.0.1:9/v1' });
  await expect(startService(unusable, log)).rejects.toThrow(/Set BANDOLIER_CHAT_MODEL/);
  const service = await startService(settingsFor(folder), log);
  expect(service.catalogs.list().catalogs.map(({ name }) => name)).toEqual(['default']);
  await service.close();
});
