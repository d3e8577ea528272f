import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { runProgram } from '../faults/program.ts';
import { RunningService, temporaryFolder } from './running-service.ts';
import { Shop } from './shop.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

/** Files and folders, this one among them, that others than their owner may do something with. */
function openToOthers(path: string): string[] {
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' });
  return ['.', ...names].filter((name) => (statSync(join(path, name)).mode & 0o077) !== 0);
}

it('what the service keeps is for its owner alone, whatever the umask is', async () => {
  const dataDir = join(folder.path, 'data');
  mkdirSync(dataDir);
  chmodSync(dataDir, 0o755);
  const before = process.umask(0o000);
  try {
    const service = await RunningService.start(dataDir, ['--sample']);
    expect(service.output).toContain('was open to other users of this machine');
    const shop = await Shop.open(service, 'default');
    await shop.teach('my money back', 'refund_payment', 3);
    expect(openToOthers(dataDir)).toEqual([]);
    expect(await service.stop()).toBe(0);
    const backup = join(folder.path, 'backup');
    expect(await runProgram('backup', backup, '--data-dir', dataDir)).toMatchObject({ code: 0 });
    expect(openToOthers(backup)).toEqual([]);
  } finally {
    process.umask(before);
  }
});
