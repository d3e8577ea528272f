import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../config/package-root.ts';
import { cleanEnvironment, temporaryFolder } from './running-service.ts';

const root = packageRoot();
const folder = temporaryFolder();
afterAll(() => folder.remove());

const node = (...words: string[]) =>
  spawnSync(process.execPath, words, { cwd: folder.path, env: cleanEnvironment(), encoding: 'utf8' });

/** Makes this Node say that it is another one. */
const versionIs = (version: string) =>
  `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'${version}'}})`;

describe('the entry file', () => {
  const entry = join(root, 'bandolier.js');

  it.each(['18.20.8', '20.18.3'])('says which Node is needed when it is %s', (version) => {
    const ended = node('--import', versionIs(version), entry, 'serve');
    expect(ended).toMatchObject({
      ...{ status: 1, stdout: '' },
      stderr: `Bandolier needs Node 20.19 or newer; this is ${version}.\n`,
    });
  });

  it('runs the commands on the oldest Node that is supported and on this one', () => {
    const oldest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).engines.node.slice(2);
    for (const version of [`${oldest}.0`, process.versions.node]) {
      const { status, stdout } = node('--import', versionIs(version), entry, '--version');
      expect([status, stdout], version).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
    }
  });

  it('says in one sentence that a clone is not built', () => {
    for (const file of ['bandolier.js', 'package.json']) cpSync(join(root, file), join(folder.path, file));
    const ended = node('bandolier.js', 'serve');
    expect(ended).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^[^\n]*npm ci[^\n]*\n$/),
    });
  });
});

describe('the package that is published', () => {
  const packed = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  const paths: readonly string[] = JSON.parse(packed.stdout)[0].files.map(
    ({ path }: { path: string }) => path,
  );

  it('holds what starts, what it reads, and what its README links to', () => {
    expect(paths).toEqual(
      expect.arrayContaining([
        'bandolier.js',
        'dist/bundle/main.js',
        'dist/workers/embed-thread.js',
        'bandit/kernels/kernels.wasm',
        '.ci/prepare.js',
      ]),
    );
    const links = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/\]\(([^)#]+)/g)].map(
      ([, link]) => link,
    );
    const here = links.filter((link) => !/^[a-z]+:/.test(link));
    expect(here.length).toBeGreaterThan(5);
    expect(here.filter((link) => !paths.some((path) => path === link || path.startsWith(link)))).toEqual([]);
  });

  it('does not hold how the model was trained, sources or tests', () => {
    expect(paths.filter((path) => /^(models\/train|src|tests|bench)\//.test(path))).toEqual([]);
  });

  it('has nothing to build when packages are installed inside it', () => {
    mkdirSync(join(folder.path, '.ci'));
    cpSync(join(root, '.ci', 'prepare.js'), join(folder.path, '.ci', 'prepare.js'));
    expect(node('.ci/prepare.js')).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });
});
