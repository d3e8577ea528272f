import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lockDataFolder } from '../../src/storage/data-folder.ts';
import { createFolder } from '../../src/storage/durable-file.ts';
import { temporaryFolder } from './temporary-folder.ts';

const root = temporaryFolder();

it('creates a folder with all its parents, for several who ask at once', async () => {
  const folder = join(root, 'a', 'b', 'c');
  await Promise.all([createFolder(folder), createFolder(folder), createFolder(join(root, 'a', 'd'))]);
  expect([folder, join(root, 'a', 'd')].map((path) => existsSync(path))).toEqual([true, true]);
  await createFolder(folder);
});

it('says in one sentence why a data folder cannot be used', async () => {
  const file = join(root, 'file');
  writeFileSync(file, '');
  await expect(lockDataFolder(join(file, 'x'))).rejects.toThrow(
    /^The data folder ".*file\/x" cannot be used \(set BANDOLIER_DATA_DIR [^)]*\): a file is where a folder has to be \(ENOTDIR\)\.$/,
  );
});

it.skipIf(process.platform !== 'linux')('ends where a file system takes no new folders', async () => {
  await expect(createFolder('/proc/nope/x')).rejects.toThrow('ENOENT');
  await expect(lockDataFolder('/proc/nope/x')).rejects.toThrow('cannot be created (ENOENT)');
});
