import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cleanEnvironment, RunningService, temporaryFolder } from './running-service.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (file: string) => readFileSync(join(root, file), 'utf8');

describe('the walk-through of the README', () => {
  const folder = temporaryFolder();
  let service: RunningService;
  beforeAll(async () => {
    service = await RunningService.start(join(folder.path, 'data'), ['--sample']);
  });
  afterAll(async () => {
    await service.stop();
    folder.remove();
  });

  const blocks = [...read('README.md').matchAll(/```sh\n(.*?)```/gs)]
    .map(([, block]) => block)
    .filter((block) => block.includes('curl'));

  it('does what it says, step by step', async () => {
    expect(blocks).toHaveLength(4);
    for (const block of blocks) {
      const script = block.replaceAll('localhost:8787', new URL(service.url).host);
      // Else `curl` succeeds, whatever the answer is.
      const strict = `curl() { command curl --fail-with-body "$@"; }\n${script}`;
      const output = execFileSync('bash', ['-euo', 'pipefail', '-c', strict], {
        cwd: folder.path,
        env: cleanEnvironment(),
        encoding: 'utf8',
      });
      const promised = [...block.matchAll(/^# → (.*)$/gm)].map(([, line]) => line);
      if (promised.length > 0) expect(output.trim()).toBe(promised.join('\n'));
      const pending = () => service.request<{ pending: number }>('GET', '/v1/rewards/health');
      while ((await pending()).body.pending > 0);
    }
  });
});

describe('the documentation', () => {
  const under = (folder: string) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file));
  const folders = ['docs', 'bandit', 'config', 'src', 'workers', 'bench', 'examples', 'tests'];
  const pages = [
    ...readdirSync(root).filter((file) => file.endsWith('.md')),
    ...['docs', 'bench/figures'].flatMap(under).filter((file) => file.endsWith('.md')),
    ...folders.flatMap(under).filter((file) => basename(file) === 'README.md' && !file.startsWith('docs')),
  ];
  // A decision names the files of its day.
  const present = pages.filter((page) => !page.startsWith('docs/decisions') && page !== 'CHANGELOG.md');

  it.each(pages)('%s links only to what is there', (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)].map(([, link]) => link);
    const broken = links.filter((link) => !existsSync(join(root, dirname(page), link)));
    expect(broken).toEqual([]);
  });

  it.each(present)('%s names only files that are there', (page) => {
    const names = [...read(page).matchAll(/`((?:src|bandit|config|tests|workers|docs|bench)\/[\w./-]+)`/g)];
    const missing = names.map(([, name]) => name).filter((name) => !existsSync(join(root, name)));
    expect(missing.filter((name) => !name.startsWith('docs/decisions'))).toEqual([]);
  });
});
