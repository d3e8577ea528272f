import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot, threadFile } from '../../config/package-root.ts';

it('finds the package from its sources', () => {
  expect(existsSync(join(packageRoot(), 'package.json'))).toBe(true);
  expect(existsSync(join(packageRoot(), 'config', 'package-root.ts'))).toBe(true);
});

it('finds the same package from dist/', async () => {
  const built = await import(join(packageRoot(), 'dist', 'config', 'package-root.js'));
  expect(built.packageRoot()).toBe(packageRoot());
  expect(built.threadFile('embed-thread')).toBe(threadFile('embed-thread'));
});

it('says what to do about a thread that was not built', () => {
  expect(() => threadFile('no-such-thread')).toThrow(
    /no-such-thread\.js is missing: run "npm run build" first/,
  );
});
