import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROBLEM_STATUS } from '../../src/http/problem-json.ts';
import { installedProgram } from '../set-up/installed-program.ts';
import { cleanEnvironment, mainFile, RunningService, temporaryFolder } from './running-service.ts';

const python = installedProgram(['python3'], 'python3');
const page = (name: string) => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8');
const blocksOf = (name: string, language: string) =>
  [...page(name).matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(([, block]) => block);

/** Pages whose commands need no more than one service with the sample catalog. */
const PAGES = [
  'tools',
  'instructions',
  'discovery',
  'context',
  'merging',
  'transcripts',
  'queries',
  'models',
  'python',
  'experiments',
  'rewards',
];

/** `curl` as it is succeeds, whatever the answer is. */
const REFUSAL_FAILS = 'curl() { command curl --fail-with-body "$@"; }';
/** Without decisions the log cannot answer: they end with 1, and say so. Group 1 is the line without its comment. */
const EVALUATIONS = /^(.*bandolier evaluate .*?)(?: +#.*)?$/gm;

describe.each(PAGES)('docs/%s.md', (name) => {
  const folder = temporaryFolder();
  let service: RunningService;
  let environment: NodeJS.ProcessEnv;
  beforeAll(async () => {
    service = await RunningService.start(join(folder.path, 'data'), ['--sample']);
    const programs = join(folder.path, 'bin');
    mkdirSync(programs);
    writeFileSync(join(programs, 'bandolier'), `#!/bin/sh\nexec "${process.execPath}" "${mainFile}" "$@"\n`);
    chmodSync(join(programs, 'bandolier'), 0o755);
    environment = cleanEnvironment({
      PATH: `${programs}:${process.env.PATH}`,
      BANDOLIER_PORT: new URL(service.url).port,
    });
  });
  afterAll(async () => {
    await service.stop();
    folder.remove();
  });

  const run = (program: string, words: readonly string[], source: string): string =>
    execFileSync(program, [...words, source.replaceAll('localhost:8787', new URL(service.url).host)], {
      cwd: folder.path,
      env: environment,
      encoding: 'utf8',
    });
  const promised = (block: string) =>
    [...block.matchAll(/^(?:#|\/\/) → (.*)$/gm)].map(([, line]) => line).join('\n');

  it('has commands that work, in their order, and print what it says', () => {
    for (const block of blocksOf(name, 'sh')) {
      const source = `${REFUSAL_FAILS}\n${block.replace(EVALUATIONS, '$1 || test $? = 1')}`;
      const output = run('bash', ['-euo', 'pipefail', '-c'], source);
      if (promised(block) !== '') expect(output.trim()).toBe(promised(block));
    }
  });

  it.skipIf(python.path === null)(`has Python that runs${python.missing ?? ''}`, () => {
    for (const block of blocksOf(name, 'python')) {
      expect(run(python.path!, ['-c'], block).trim()).toBe(promised(block));
    }
  });

  it('has JavaScript that runs', () => {
    for (const block of blocksOf(name, 'js')) {
      expect(run(process.execPath, ['--input-type=module', '-e'], block).trim()).toBe(promised(block));
    }
  });

  it('has JSON that is JSON', () => {
    for (const block of blocksOf(name, 'json')) expect(() => JSON.parse(block)).not.toThrow();
  });
});

it('docs/errors.md shows an error as it is', async () => {
  const folder = temporaryFolder();
  const service = await RunningService.start(join(folder.path, 'data'));
  const { body } = await service.request('GET', '/v1/catalogs/default/tools/create_refnd');
  await service.stop();
  folder.remove();
  const [shown] = blocksOf('errors', 'json').map((block) => JSON.parse(block));
  expect({ ...shown, requestId: body.requestId }).toEqual(body);
});

it('docs/errors.md has every code with its status, and no other', () => {
  const rows = [...page('errors').matchAll(/^\| `([a-z-]+)` \| (\d+) \|/gm)];
  expect(Object.fromEntries(rows.map(([, code, status]) => [code, Number(status)]))).toEqual(PROBLEM_STATUS);
});
