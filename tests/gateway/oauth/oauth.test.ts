import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { login } from '../../../src/gateway/oauth/login.ts';
import { authorizationOf } from '../../../src/gateway/oauth/stored-authorization.ts';
import { TokenStore } from '../../../src/gateway/oauth/token-store.ts';
import { outgoingFetch } from '../../../src/outgoing/fetch.ts';
import { openMcpConnection } from '../../../src/outgoing/mcp/open-mcp-connection.ts';
import { until } from '../../e2e/running-service.ts';
import { type AuthorizedServer, startAuthorizedServer } from '../../set-up/mcp-servers/authorized-server.ts';

const root = new URL('../../../', import.meta.url).pathname;
const SECRET = 'a secret of sixteen letters';
const fetchFn = outgoingFetch({ allowPrivate: true, timeoutMs: 10_000, maxBytes: 1e6 });

let folder: string;
let server: AuthorizedServer;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tokens-'));
  server = await startAuthorizedServer();
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

const storeOf = (secret: string | undefined = SECRET) =>
  new TokenStore(folder, { source: 'web', url: server.url }, secret);
/** Plays the user with a browser: follows the address to where it leads back. */
const browse = (address: URL) => void fetch(address).catch(() => {});
const logIn = (store = storeOf(), show: (address: URL) => void = browse) =>
  login(store, {
    url: server.url,
    source: 'web',
    fetch: fetchFn,
    now: Date.now,
    show,
    signal: AbortSignal.timeout(20_000),
  });

async function echo(store: TokenStore, text: string): Promise<unknown> {
  const auth = authorizationOf(store, { url: server.url, source: 'web' }, fetchFn, Date.now);
  const connection = await openMcpConnection(
    { url: server.url },
    { allowPrivate: true, version: '1.2.3', auth },
  );
  const answer = await connection.callTool('echo', { text }).finally(() => connection.close());
  return answer;
}

it('a login in the browser gives tokens, which are renewed when the server refuses them', async () => {
  await expect(echo(storeOf(), 'x')).rejects.toMatchObject({
    failure: 'unauthorized',
    message: expect.stringContaining('bandolier sources login web'),
  });
  expect(await logIn()).toBe(true);
  expect(await echo(storeOf(), 'hello')).toMatchObject({ result: { content: [{ text: 'hello' }] } });
  server.expire();
  expect(await echo(storeOf(), 'again')).toMatchObject({ result: { content: [{ text: 'again' }] } });
  expect(server.refreshes()).toBe(1);
});

it('tokens are renewed before they end', async () => {
  await server.close();
  server = await startAuthorizedServer(10);
  await logIn();
  await echo(storeOf(), 'x');
  expect(server.refreshes()).toBeGreaterThan(0);
});

it('two processes renew at once, and none loses its tokens', async () => {
  await logIn();
  const script = `
    import { authorizationOf } from '${root}dist/src/gateway/oauth/stored-authorization.js';
    import { TokenStore } from '${root}dist/src/gateway/oauth/token-store.js';
    import { outgoingFetch } from '${root}dist/src/outgoing/fetch.js';
    import { openMcpConnection } from '${root}dist/src/outgoing/mcp/open-mcp-connection.js';
    const fetchFn = outgoingFetch({ allowPrivate: true, version: '1.2.3', timeoutMs: 10000, maxBytes: 1e6 });
    const store = new TokenStore('${folder}', { source: 'web', url: '${server.url}' }, '${SECRET}');
    const auth = authorizationOf(store, { url: '${server.url}', source: 'web' }, fetchFn, Date.now);
    const connection = await openMcpConnection({ url: '${server.url}' }, { allowPrivate: true, version: '1.2.3', auth });
    const calls = Array.from({ length: 5 }, (_, i) => connection.callTool('echo', { text: String(i) }));
    await Promise.all(calls);
    await connection.close();`;
  for (let round = 0; round < 3; round++) {
    server.expire();
    const children = [1, 2, 3].map(() =>
      spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' }),
    );
    const codes = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0]));
    expect(codes).toEqual([0, 0, 0]);
  }
  expect(server.wasReused()).toBe(false);
});

it('a login that the user refuses, or that another page began, gives nothing', async () => {
  await logIn();
  server.refuse = true;
  await expect(logIn()).rejects.toThrow('access_denied');
  server.refuse = false;
  const asked: URL[] = [];
  const waiting = logIn(storeOf(), (address) => asked.push(address));
  await until(() => asked.length > 0);
  const redirect = asked[0].searchParams.get('redirect_uri');
  expect((await fetch(`${redirect}?code=stolen&state=forged`)).status).toBe(400);
  browse(asked[0]);
  expect(await waiting).toBe(true);
  expect(await echo(storeOf(), 'still')).toMatchObject({ kind: 'complete' });
});

it('tokens are for one server, in a file that nobody else reads, and encrypted', async () => {
  await logIn();
  const [file] = (await readdir(join(folder, 'tokens'))).map((name) => join(folder, 'tokens', name));
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const text = await readFile(file, 'utf8');
  const stored = await storeOf().read();
  expect(stored?.tokens?.access_token).toEqual(expect.any(String));
  expect(text).not.toContain(stored?.tokens?.access_token);
  const other = { source: 'web', url: 'https://other.example.com/mcp' };
  expect(await new TokenStore(folder, other, SECRET).read()).toBeNull();
  await expect(storeOf('another secret of mine').read()).rejects.toThrow('another BANDOLIER_TOKEN_KEY');
  await expect(storeOf('').read()).rejects.toThrow('set BANDOLIER_TOKEN_KEY');
  await writeFile(file, text.replace('"version":1', '"version":2'));
  await expect(storeOf().read()).rejects.toThrow('another version');
  await writeFile(file, text.slice(0, 50));
  await expect(storeOf().read()).rejects.toThrow('damaged');
});

it('needs a secret before the browser opens, and no login where no authorization is wanted', async () => {
  await expect(logIn(storeOf(''))).rejects.toThrow('set BANDOLIER_TOKEN_KEY');
  const open: typeof fetch = async () => new Response('{}', { status: 200 });
  const options = {
    url: server.url,
    source: 'web',
    fetch: open,
    now: Date.now,
    show: browse,
    signal: AbortSignal.timeout(5_000),
  };
  expect(await login(storeOf(), options)).toBe(false);
});

it('a lock that a dead process left is taken over', async () => {
  await logIn();
  const [file] = await readdir(join(folder, 'tokens'));
  const lock = join(folder, 'tokens', `${file}.lock`);
  await writeFile(lock, 'dead');
  await utimes(lock, new Date(0), new Date(0));
  expect(await storeOf().locked(async () => 'mine')).toBe('mine');
});
