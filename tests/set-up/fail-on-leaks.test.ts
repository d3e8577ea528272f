import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'bandolier-leaks-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('fails a test file that leaves a server behind, and no other', () => {
  const leaking =
    "import { createServer } from 'node:net'; it('leaks', () => void createServer().listen(0));";
  writeFileSync(join(folder, 'leaking.test.ts'), leaking);
  writeFileSync(join(folder, 'tidy.test.ts'), "it('is tidy', () => {});");
  const setupFiles = [join(root, 'tests/set-up/fail-on-leaks.ts')];
  const config = { test: { globals: true, pool: 'forks', maxWorkers: 1, setupFiles } };
  writeFileSync(join(folder, 'vitest.config.mjs'), `export default ${JSON.stringify(config)};`);
  const vitest = join(root, 'node_modules/.bin/vitest');
  const { stdout, stderr } = spawnSync(vitest, ['run', '--root', folder, '--no-color'], { encoding: 'utf8' });
  expect(`${stdout}${stderr}`).toMatch(/This file leaves something running: TCPServerWrap × 1\./);
  expect(stdout).toMatch(/Test Files\s+1 failed \| 1 passed/);
});
