import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Listener, listen } from '../../src/http/listen.ts';
import { RequestGuard } from '../../src/http/request-guard.ts';
import { appWith } from '../http/fake-nouns.ts';
import { browse, chromium } from './browser.ts';

/** What got through to a noun. */
const done: string[] = [];
const note = (name: string) => async (): Promise<never> => {
  done.push(name);
  return {} as never;
};

const { app, admission } = appWith({
  catalogs: {
    list: () => ({ catalogs: [{ name: 'secret-catalog' } as never], failed: [] }),
    configure: note('configure'),
  },
  experiments: { change: note('kill') },
  routing: { route: note('route') },
  rewards: { redrive: note('redrive') },
  tools: { remove: note('remove') },
});
let router: Listener;
let attacker: Server;
/** Pages by path. */
const pages = new Map<string, string>();

beforeAll(async () => {
  router = await listen(app, { admission, guard: new RequestGuard(), host: '127.0.0.1', port: 0 });
  attacker = createServer((request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(pages.get(request.url ?? '') ?? '');
  });
  attacker.listen(0, '127.0.0.1');
  await once(attacker, 'listening');
});
afterAll(async () => {
  await router.close(0);
  attacker.closeAllConnections();
  attacker.close();
});

/** What a browser shows in the end that opens such a page. */
async function visit(body: string): Promise<string> {
  pages.set('/page', `<!doctype html><body>${body}</body>`);
  const { port } = attacker.address() as AddressInfo;
  return (await browse(`http://attacker.example:${port}/page`, ['attacker.example'])).html;
}

/** What became of attempts that a script makes. */
async function run(attempts: string): Promise<unknown> {
  const html = await visit(`<script>
    const kill = '${router.url}/v1/catalogs/default/experiments/e/kill';
    const attempt = (url, init) => fetch(url, init).then((answer) => answer.type, () => 'failed');
    const attempts = async () => [${attempts}];
    attempts().then((seen) => document.body.append('made: ' + JSON.stringify(seen)));
  </script>`);
  return JSON.parse(/made: (\[".*?\])/.exec(html)?.[1] ?? JSON.stringify(html));
}

describe.skipIf(chromium.missing !== null)(`a web page ${chromium.missing ?? ''}`.trim(), () => {
  it('changes nothing with what it may send unasked', async () => {
    const seen = await run(`
      await attempt(kill, { method: 'POST', mode: 'no-cors' }),
      await attempt(kill, { method: 'POST', mode: 'no-cors', credentials: 'include', keepalive: true }),
      await attempt('${router.url}/v1/rewards/dead/redrive', { method: 'POST', mode: 'no-cors', body: '{}' }),
      await attempt('${router.url}/v1/route', { method: 'POST', mode: 'no-cors', body: '{"query":"q"}' }),
      navigator.sendBeacon(kill),
      navigator.sendBeacon(kill, new Blob(['{}'], { type: 'text/plain' })),
    `);
    // `opaque`: the browser did send it, and an answer came.
    expect(seen).toEqual(['opaque', 'opaque', 'opaque', 'opaque', true, true]);
    expect(done).toEqual([]);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])(
    'changes nothing with a form of %s',
    async (type) => {
      const action = `${router.url}/v1/catalogs/default/experiments/e/kill`;
      const form = `<form method="post" enctype="${type}" action="${action}"></form>`;
      const html = await visit(`${form}<script>document.forms[0].submit()</script>`);
      expect(html).toContain('origin-not-allowed');
      expect(done).toEqual([]);
    },
  );

  it('gets nowhere with what a browser asks leave for', async () => {
    const headers = `headers: { 'content-type': 'application/json', 'x-bandolier': '1' }`;
    const seen = await run(`
      await attempt(kill, { method: 'POST', ${headers} }),
      await attempt('${router.url}/v1/catalogs/default', { method: 'PATCH', ${headers}, body: '{}' }),
      await attempt('${router.url}/v1/catalogs/default/tools/t', { method: 'DELETE', ${headers} }),
      await attempt('${router.url}/v1/catalogs'),
    `);
    expect(seen).toEqual(['failed', 'failed', 'failed', 'failed']);
    expect(done).toEqual([]);
  });

  it('reads nothing when its own name leads to the router', async () => {
    const { port } = new URL(router.url);
    const { html } = await browse(`http://attacker.example:${port}/v1/catalogs`, ['attacker.example']);
    expect(html).toContain('host-not-allowed');
    expect(html).not.toContain('secret-catalog');
    expect((await browse(`${router.url}/v1/catalogs`)).html).toContain('secret-catalog');
  });
});
