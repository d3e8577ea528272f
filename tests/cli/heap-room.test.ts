import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { growth } from '../../src/cli/heap-room.ts';

const MB = 1024 * 1024;

test('a heap has room for 96 MB of garbage, but grows to four times what lives in it at most', () => {
  expect(growth(0)).toBe(300);
  expect(growth(10 * MB)).toBe(300);
  expect(growth(48 * MB)).toBe(200);
  expect(growth(96 * MB)).toBe(100);
  expect(growth(384 * MB)).toBe(25);
  expect(growth(100_000 * MB)).toBe(10);
});

test('this Node has the flag by which the heap grows', () => {
  const { stdout } = spawnSync(process.execPath, ['--v8-options'], { encoding: 'utf8' });
  expect(stdout).toContain('--heap-growing-percent ');
});
