import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cleanEnvironment, mainFile, RunningService, temporaryFolder, until } from './running-service.ts';

const folder = temporaryFolder();
let service: RunningService;
beforeAll(async () => {
  service = await RunningService.start(folder.path, ['--sample']);
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  folder.remove();
});

/** Runs `bandolier … --url <service>` to its end. */
async function run(...words: string[]) {
  const all = [mainFile, ...words, '--url', service.url];
  const child = spawn(process.execPath, all, { env: cleanEnvironment(), cwd: folder.path });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (output.stdout += chunk));
  child.stderr.on('data', (chunk) => (output.stderr += chunk));
  const [code] = await once(child, 'close');
  return { code, ...output };
}
const json = async (...words: string[]) => JSON.parse((await run(...words, '--json')).stdout);

describe('from the terminal', () => {
  it('one asks, sees why, reports, and sees how it is going', async () => {
    const routed = await run('route', 'the customer wants their money back', '--k', '3', '--greedy');
    expect(routed).toMatchObject({ code: 0, stderr: '' });
    expect(routed.stdout).toMatch(/^1 {2}create_refund +\d\.\d{3} +100 % +retrieved$/m);
    const [, id] = /bandolier explain (\S+)/.exec(routed.stdout) ?? [];
    await service.ask('POST', `/v1/decisions/${id}/rewards`, { tool: 'create_refund', outcome: 'timeout' });
    const again = await json('route', 'the customer wants their money back', '--unit', 'ada');
    const success = { tool: 'create_refund', outcome: 'success' };
    await service.ask('POST', `/v1/decisions/${again.decisionId}/rewards`, success);
    await service.settled();

    const explained = await run('explain', id);
    expect(explained.stdout).toMatch(/^1\. create_refund .*\n {3}\S/m);
    expect(explained.stdout).toMatch(/create_refund: timeout, applied \(outcome-teaches-nothing\)/);
    expect((await json('explain', id)).decisionId).toBe(id);

    const listed = await run('decisions', '--tool', 'create_refund');
    expect(
      listed.stdout
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toEqual(['DECISION', again.decisionId, id]);
    expect((await json('decisions', '--outcome', 'timeout')).decisions).toHaveLength(1);
    expect((await json('decisions', '--limit', '1', '--unit', 'ada')).decisions).toHaveLength(1);

    expect((await run('stats')).stdout).toMatch(/^create_refund +2 +2 +1 +0 +1 +100 %$/m);
    expect((await run('stats', 'create_refund')).stdout.trim().split('\n')).toHaveLength(2);
    expect((await json('stats', '--order', 'best')).standing[0].name).toBe('create_refund');

    expect((await run('health')).stdout).toMatch(/Last 24 hours: 2 decisions, 100 % of them with a reward/);
    const report = await run('report');
    expect(report.stdout).toMatch(/Catalog default: \d+ tools, 1 of them called/);
    expect(report.stdout).toMatch(/2 calls, 100 % of those with an outcome succeeded, 1 timeout\b/);
    expect(report.stdout).toMatch(/Learned: \d+ updates, \d+ cases?/);
    expect(report.stdout.split('\n').length).toBeLessThan(40);
    expect(Object.keys(await json('report'))).toEqual([
      'catalog',
      'health',
      'total',
      'best',
      'worst',
      'policy',
      'sources',
    ]);
  });

  it('one is told that two variants are alike', async () => {
    const create = async (name: string, policy?: string) => {
      const variants = [
        { name: 'a', share: 50 },
        { name: 'b', share: 50, ...(policy && { policy }) },
      ];
      const file = join(folder.path, `${name}.json`);
      writeFileSync(file, JSON.stringify({ name, unit: 'decision', variants }));
      return run('experiment', 'create', file);
    };
    expect((await create('alike')).stdout).toMatch(
      /^No variant names a policy: .* \(A\/A\)\.\nExperiment alike/,
    );
    expect((await create('differing', 'cosine')).stdout).toMatch(/^Experiment differing is a draft/);
    await create('same', 'sc-linucb-memory');
    const same = await run('experiment', 'start', 'same');
    expect([same.code, same.stderr]).toEqual([1, expect.stringMatching(/nothing to compare/)]);
  });

  it('one is told that a catalog is empty', async () => {
    await service.ask('PUT', '/v1/catalogs/empty', {});
    const { stdout } = await run('route', 'anything', '--catalog', 'empty');
    expect(stdout).toMatch(/This catalog has no tools yet: put some with `bandolier import`/);
  });

  it('one says what is wrong in one sentence', async () => {
    for (const words of [
      ['explain', 'default.none'],
      ['decisions', '--outcome', 'bad'],
      ['stats', 'no-tool'],
      ['report', '--catalog', 'none'],
      ['route', 'x', '--k', '99'],
    ]) {
      const { code, stdout, stderr } = await run(...words);
      expect([code, stdout, stderr.trim().split('\n').length]).toEqual([1, '', 1]);
      expect(stderr).toMatch(/^(bandolier|error): /);
    }
  });

  it.each([
    ['catalogs', 'list'],
    ['experiment', 'list'],
    ['rewards', 'dead'],
    ['models', 'list'],
  ])('%s %s answers JSON', async (...words) => {
    const url = words[0] === 'models' ? [] : ['--url', service.url];
    const { stdout } = spawnSync(process.execPath, [mainFile, ...words, '--json', ...url], {
      encoding: 'utf8',
      env: cleanEnvironment(),
    });
    expect(typeof JSON.parse(stdout)).toBe('object');
  });

  it('ends silently when nobody reads on', async () => {
    const command = `"${process.execPath}" "${mainFile}" explain --help | head -c 1; echo " \${PIPESTATUS[0]}"`;
    const loud = `"${process.execPath}" "${mainFile}" completion fish | head -n 1 > /dev/null; echo "\${PIPESTATUS[0]}"`;
    for (const line of [command, loud]) {
      const { stdout, stderr } = spawnSync('bash', ['-c', line], {
        encoding: 'utf8',
        env: cleanEnvironment(),
      });
      expect([stdout.trim().endsWith('0'), stderr]).toEqual([true, '']);
    }
  });
});

describe('what a user has, at the terminal', () => {
  const items = [
    { id: 'song-81', text: 'Playlist: Morning Run', store: 'music' },
    { id: 'anna', text: 'Anna Keller, sister', store: 'phone' },
    { id: 'note-4', text: 'Intermittent fasting plan', store: 'notes' },
  ];

  it('goes into a route of this user, and is explained', async () => {
    await service.ask('PUT', '/v1/catalogs/default/users/mia/context', { items });
    const query = 'send the parcel to my sister Anna Keller';
    const asked = ['--user', 'mia', '--place', 'home', '--utc-offset', '-300'];
    let routed = await run('route', query, ...asked);
    // A busy machine may need more than the 100 ms that a route waits.
    await until(async () => {
      if (routed.stdout.includes('ITEM')) return true;
      routed = await run('route', query, ...asked);
      return false;
    });
    expect(routed.stdout).toMatch(
      /^ITEM +LIKELY +TEXT +WHY\nanna +0\.\d\d +Anna Keller, sister +like the query/m,
    );
    const [, id] = /bandolier explain (\S+)/.exec(routed.stdout) ?? [];
    expect((await run('explain', id)).stdout).toMatch(
      /^Of what the user has:\n {3}anna \(0\.\d\d\): Anna Keller, sister\n {6}like the query/m,
    );
    const { decisionId } = await json('route', query, ...asked);
    const { usage } = await (async () => {
      const rewards = [{ decisionId, tool: 'create_refund', outcome: 'success', context: ['anna'] }];
      await service.ask('POST', '/v1/rewards', { rewards });
      return json('context', 'export', 'mia');
    })();
    expect(Object.keys(usage[0].places)).toEqual(['home']);
    const refused = await run('route', query, '--place', 'home');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('add --user <id>')]);
  });

  it('is deleted item by item, or all of it, and an erasure of nobody says so', async () => {
    await service.ask('PUT', '/v1/catalogs/default/users/zoe/context', { items });
    expect((await run('context', 'remove', 'zoe', 'anna')).stdout).toBe(
      'Item anna of user zoe is deleted.\n',
    );
    expect((await run('context', 'remove', 'zoe', 'anna')).stdout).toContain('has no item anna');
    expect((await json('context', 'list', 'zoe')).items).toHaveLength(2);
    expect(await json('context', 'clear', 'zoe')).toEqual({ removed: 2 });
    expect((await run('context', 'erase', 'chole')).stdout).toContain('Nothing was held about user chole');
    await service.ask('PUT', '/v1/catalogs/default/users/zoe/context', { items });
    expect((await run('context', 'erase', 'zoe')).stdout).toContain('held about user zoe is erased');
  });
});

it('the address of the service says what it is, and where to go', async () => {
  const answer = await service.ask<{ name: string; documentation: string; ready: string }>('GET', '/');
  expect(answer.name).toBe('bandolier');
  for (const path of [answer.documentation, answer.ready]) {
    expect((await fetch(service.url + path)).status).toBe(200);
  }
});
