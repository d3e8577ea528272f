import { once } from 'node:events';
import { connect } from 'node:net';
import { Hono } from 'hono';
import { afterEach, describe, expect, it } from 'vitest';
import { Admission } from '../../src/http/admission.ts';
import { ListenError, type Listener, listen } from '../../src/http/listen.ts';
import { RequestGuard } from '../../src/http/request-guard.ts';
import { appWith } from './fake-nouns.ts';

const open: Listener[] = [];
afterEach(async () => {
  for (const listener of open.splice(0)) await listener.close(0);
});

async function listening(app: Hono, admission = new Admission()) {
  const listener = await listen(app, { admission, guard: new RequestGuard(), host: '127.0.0.1', port: 0 });
  open.push(listener);
  return listener;
}

describe('listen', () => {
  it('says in one sentence that the port is taken', async () => {
    const { url } = await listening(new Hono());
    const again = listen(new Hono(), {
      admission: new Admission(),
      guard: new RequestGuard(),
      host: '127.0.0.1',
      port: Number(new URL(url).port),
    });
    await expect(again).rejects.toThrow(ListenError);
    await expect(again).rejects.toThrow(/^Port \d+ is taken\. .*BANDOLIER_PORT/);
  });

  it('answers 413 to a body that is still being sent', async () => {
    const { app, admission } = appWith();
    const { url } = await listening(app, admission);
    const body = Buffer.alloc(10 * 1024 * 1024, 0x20);
    const response = await fetch(`${url}/v1/route`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(response.status).toBe(413);
    expect((await fetch(`${url}/livez`)).status).toBe(200);
  });

  it('survives a client that goes away in the middle of its body', async () => {
    const { app, admission, logged } = appWith();
    const { url } = await listening(app, admission);
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write(
      'POST /v1/route HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{',
    );
    await once(socket, 'connect');
    socket.destroy();
    await once(socket, 'close');
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    expect(logged).toEqual([]);
  });

  it('tells work that takes long when the client hangs up, and logs nothing of it', async () => {
    let hungUp = (_reason: unknown) => {};
    const isHungUp = new Promise((resolve) => (hungUp = resolve));
    const client = new AbortController();
    const snapshots = async (_catalog: string, signal?: AbortSignal) => {
      client.abort();
      await once(signal!, 'abort');
      hungUp(signal!.reason);
      throw signal!.reason;
    };
    const { app, admission, logged } = appWith({ versions: { snapshots } });
    const { url } = await listening(app, admission);
    const asked = fetch(`${url}/v1/catalogs/default/snapshots`, { signal: client.signal });
    await expect(asked).rejects.toThrow(/abort/);
    expect(await isHungUp).toMatchObject({ code: 'unavailable' });
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    expect(logged).toEqual([]);
  });

  it('waits for no connection that a client opened in advance', async () => {
    const { url } = await listening(new Hono());
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    await once(socket, 'connect');
    // The listener accepts in order, so it knows of the first one when it has answered.
    await fetch(`${url}/livez`);
    await open.pop()?.close(60_000);
    if (!socket.closed) await once(socket, 'close');
  });

  it('finishes what is in progress before it closes, and then refuses', async () => {
    let finish = () => {};
    const finished = new Promise<void>((resolve) => (finish = resolve));
    let enter = () => {};
    const entered = new Promise<void>((resolve) => (enter = resolve));
    const list = async () => {
      enter();
      await finished;
      return [];
    };
    const { app, admission } = appWith({ evaluations: { list } });
    const { url, close } = await listening(app, admission);
    const slow = fetch(`${url}/v1/catalogs/default/evaluations`);
    await entered;
    const closed = close(60_000);
    finish();
    expect(await (await slow).json()).toEqual({ evaluations: [] });
    await closed;
    await expect(fetch(`${url}/v1/catalogs`)).rejects.toThrow();
  });

  it('cuts off what does not finish within the grace', async () => {
    const app = new Hono();
    let entered = () => {};
    const isEntered = new Promise<void>((resolve) => (entered = resolve));
    app.get('/never', () => {
      entered();
      return new Promise<Response>(() => {});
    });
    const { url, close } = await listening(app);
    const never = fetch(`${url}/never`).catch(() => 'cut off');
    await isEntered;
    await close(0);
    expect(await never).toBe('cut off');
  });
});
