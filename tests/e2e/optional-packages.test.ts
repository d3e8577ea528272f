import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../config/package-root.ts';
import { writeTinyModel, writeTinyPairModel } from '../models/tiny-model.ts';
import { cleanEnvironment, temporaryFolder } from './running-service.ts';

const OPTIONAL = ['onnxruntime-node', 'hnswlib-node'];
const folder = temporaryFolder();
const installed = join(folder.path, 'bandolier');
const data = join(folder.path, 'data');

// As `npm ci --omit=dev --omit=optional` leaves it.
beforeAll(() => {
  mkdirSync(join(installed, 'node_modules'), { recursive: true });
  for (const part of ['dist', 'package.json', 'models', 'bandit'])
    cpSync(join(packageRoot(), part), join(installed, part), { recursive: true });
  const packages = join(packageRoot(), 'node_modules');
  for (const name of readdirSync(packages)) {
    if (!OPTIONAL.includes(name)) symlinkSync(join(packages, name), join(installed, 'node_modules', name));
  }
  writeTinyModel(join(data, 'models', 'tiny--mails'));
  writeTinyPairModel(join(data, 'models', 'tiny--pairs'), { mail: 1 });
});
afterAll(() => folder.remove());

const bandolier = (...words: string[]) =>
  spawnSync(process.execPath, [join(installed, 'dist', 'bundle', 'main.js'), ...words, '--data-dir', data], {
    env: cleanEnvironment({}),
    encoding: 'utf8',
  });

describe('without the optional packages', () => {
  it('the bundled model embeds', () => {
    expect(bandolier('models', 'check', 'bundled').stdout).toContain(
      'an embedding model with 256 dimensions',
    );
  });

  it.each(['tiny/mails', 'tiny/pairs'])('%s says what to install', (name) => {
    const { status, stderr } = bandolier('models', 'check', name);
    expect(status).toBe(1);
    expect(stderr.trim()).toMatch(
      /^.*The model in .* needs the package onnxruntime-node, which is not installed: npm install onnxruntime-node@1\.30\.0$/,
    );
  });
});
