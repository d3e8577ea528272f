import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type AuthorizedServer, startAuthorizedServer } from '../set-up/mcp-servers/authorized-server.ts';
import { cleanEnvironment, mainFile, RunningService, temporaryFolder } from './running-service.ts';

const folder = temporaryFolder();
const SETTINGS = {
  BANDOLIER_ALLOW_PRIVATE_HOSTS: 'true',
  BANDOLIER_TOKEN_KEY: 'a secret of sixteen letters',
};
let service: RunningService;
let server: AuthorizedServer;

beforeAll(async () => {
  server = await startAuthorizedServer();
  service = await RunningService.start(folder.path, [], SETTINGS);
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  await server.close();
  folder.remove();
});

async function login(settings: Record<string, string>): Promise<{ code: number; text: string }> {
  const words = ['sources', 'login', 'guarded', '--url', service.url, '--data-dir', folder.path];
  const child = spawn(process.execPath, [mainFile, ...words], {
    env: { ...cleanEnvironment(), ...settings },
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      const before = text;
      text += chunk;
      const address = /^ {2}(http\S+)$/m;
      // The user opens the address, and is led back to the command.
      const [, found] = address.exec(text) ?? [];
      if (found !== undefined && !address.test(before)) void fetch(found).catch(() => {});
    });
  }
  const [code] = await once(child, 'close');
  return { code, text };
}

it('a source that wants OAuth says how to log in, and is read after that', async () => {
  const path = '/v1/catalogs/default/sources/guarded';
  await service.ask('PUT', path, { kind: 'mcp', url: server.url, refreshSeconds: null });
  const refused = await service.ask<{ status: string; error: string }>('POST', `${path}/sync`);
  expect(refused).toMatchObject({
    status: 'error',
    error: expect.stringContaining('bandolier sources login guarded'),
  });

  expect(await login({ BANDOLIER_ALLOW_PRIVATE_HOSTS: 'true' })).toMatchObject({
    code: 1,
    text: expect.stringContaining('set BANDOLIER_TOKEN_KEY'),
  });
  const done = await login(SETTINGS);
  expect(done).toMatchObject({ code: 0, text: expect.stringContaining('You are logged in') });
  expect(await service.ask('POST', `${path}/sync`)).toMatchObject({ status: 'ok', tools: 1 });
});
