import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { cleanEnvironment, mainFile, temporaryFolder } from './running-service.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

it('bandolier demo learns: at least 8 points of Recall@5 on queries that were never shown', async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [mainFile, 'demo'], {
    cwd: folder.path,
    env: cleanEnvironment(),
  });
  expect(stderr).toBe('');
  const [, gain] = /Recall@5 +0\.\d+ +0\.\d+ +\+(\d+\.\d) points/.exec(stdout) ?? [];
  expect(Number(gain)).toBeGreaterThanOrEqual(8);
  expect(stdout).toMatch(/[▁▂▃▄▅▆▇█]{24}/);
  expect(stdout).toMatch(/Improved most: ".+"\n {2}before .+\n {2}after .+\n {2}\w.+: .+\./);
}, 300_000);
