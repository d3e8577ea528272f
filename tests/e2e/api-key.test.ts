import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { cleanEnvironment, mainFile, RunningService, temporaryFolder } from './running-service.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());
const EVERYBODY = ['--host', '0.0.0.0'];
const tools = join(folder.path, 'tools.json');
writeFileSync(tools, JSON.stringify([{ name: 'send_mail', description: 'Sends a mail.' }]));

/** Reads the whole answer: a socket that waits for a reader stays open. */
async function ask(url: string, path: string, key?: string) {
  const response = await fetch(url.replace('0.0.0.0', '127.0.0.1') + path, {
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
  });
  const { status, headers } = response;
  return { status, headers, text: await response.text() };
}

describe('a service that others can reach', () => {
  it('makes a key at its first start, prints it once, keeps it for its owner alone, and wants it', async () => {
    const data = join(folder.path, 'made');
    const first = await RunningService.start(data, EVERYBODY);
    const file = join(data, 'api-key');
    const key = readFileSync(file, 'utf8').trim();
    expect(key).toMatch(/^[\da-f]{48}$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await expect.poll(() => first.output).toContain(key);
    expect((await ask(first.url, '/v1/catalogs', key)).status).toBe(200);
    const refused = await ask(first.url, '/v1/catalogs');
    expect(refused.headers.get('www-authenticate')).toBe('Bearer');
    expect([refused.status, JSON.parse(refused.text)]).toEqual([
      401,
      expect.objectContaining({ code: 'unauthorized', suggestedFix: expect.stringContaining('api-key') }),
    ]);
    for (const path of ['/livez', '/readyz', '/metrics', '/docs', '/openapi.json']) {
      expect((await ask(first.url, path)).status, path).toBe(200);
    }
    await first.stop();

    const second = await RunningService.start(data, EVERYBODY);
    await expect.poll(() => second.output).toContain('Ctrl-C');
    expect(second.output).not.toContain(key);
    expect(second.output).toContain(`kept in ${file}`);
    expect((await ask(second.url, '/v1/catalogs', key)).status).toBe(200);
    await second.stop();
  });

  it('prints the key at the first start that listens', async () => {
    const taken = createServer().listen(0, '0.0.0.0');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const data = join(folder.path, 'taken');
    const args = [mainFile, 'serve', ...EVERYBODY, '--port', String(port), '--data-dir', data];
    const { status, stderr } = spawnSync(process.execPath, args, {
      env: cleanEnvironment(),
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([1, expect.stringContaining(String(port))]);
    await new Promise((resolve) => taken.close(resolve));

    const service = await RunningService.start(data, EVERYBODY);
    await expect.poll(() => service.output).toContain('Ctrl-C');
    expect(service.output).toContain(readFileSync(join(data, 'api-key'), 'utf8').trim());
    await service.stop();
  });

  it('says how to mend a file without a key', () => {
    const data = join(folder.path, 'empty');
    mkdirSync(data);
    writeFileSync(join(data, 'api-key'), '');
    const args = [mainFile, 'serve', ...EVERYBODY, '--port', '0', '--data-dir', data];
    const { status, stderr } = spawnSync(process.execPath, args, {
      env: cleanEnvironment(),
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^bandolier: .*api-key holds no key\. Delete it.*\n$/m);
    expect(stderr).not.toContain('should not have');
  });

  it('takes the key that is set, and the commands send it', async () => {
    const key = 'k'.repeat(20);
    const service = await RunningService.start(join(folder.path, 'set'), [], { BANDOLIER_API_KEY: key });
    const importTools = (settings: Record<string, string>) =>
      spawnSync(process.execPath, [mainFile, 'import', tools, '--url', service.url], {
        env: cleanEnvironment(settings),
        encoding: 'utf8',
      });
    const without = importTools({});
    expect([without.status, without.stderr]).toEqual([1, expect.stringContaining('Set BANDOLIER_API_KEY')]);
    expect(importTools({ BANDOLIER_API_KEY: key }).status).toBe(0);
    expect((await ask(service.url, '/v1/catalogs', `${key}k`)).status).toBe(401);
    await service.stop();
  });

  it('prints steps that work when they are pasted, and commands beside its data folder find the key', async () => {
    const data = join(folder.path, "it's pasted");
    const service = await RunningService.start(data, EVERYBODY);
    await expect.poll(() => service.output).toContain('Ctrl-C');
    const url = service.url.replace('0.0.0.0', 'localhost');
    const [exported] = /^ {2}export .*$/m.exec(service.output)!;
    const pasted = spawnSync(
      'sh',
      ['-c', `${exported}; "$0" "$1" import "$2" --url ${url}`, process.execPath, mainFile, tools],
      {
        env: cleanEnvironment(),
        encoding: 'utf8',
      },
    );
    expect([pasted.stderr, pasted.status]).toEqual(['', 0]);
    const beside = spawnSync(process.execPath, [mainFile, 'catalogs', 'list', '--url', url], {
      env: cleanEnvironment({ BANDOLIER_DATA_DIR: data }),
      encoding: 'utf8',
    });
    expect([beside.stderr, beside.status]).toEqual(['', 0]);
    await service.stop();
  });
});
