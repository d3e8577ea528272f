import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Context } from 'hono';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { BodyIntake } from '../../src/http/body-intake.ts';
import { TOOLS_BODY } from '../../src/http/wire/tool.ts';

const MB = 1024 * 1024;

/** A request whose body comes when the test says so. */
function arriving(headers: Record<string, string> = {}) {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const use = (own: typeof controller): void => {
    controller = own;
  };
  const body = new ReadableStream<Uint8Array>({ start: use });
  const context = { env: undefined, req: { header: (name: string) => headers[name], raw: { body } } };
  return {
    context: context as unknown as Context,
    send: (bytes: number | string) =>
      controller.enqueue(typeof bytes === 'string' ? Buffer.from(bytes) : Buffer.alloc(bytes, '  \n')),
    sendAlone: (text: string) => controller.enqueue(Uint8Array.from(Buffer.from(text))),
    end: () => controller.close(),
    breakOff: () => controller.error(new Error('gone')),
  };
}

/** A request whose body Node has before anybody reads it. */
function here(...pieces: Uint8Array[]) {
  const incoming = new IncomingMessage(new Socket());
  for (const piece of pieces) incoming.push(piece);
  const context = { env: { incoming }, req: { header: () => undefined } } as unknown as Context;
  const end = (): void => {
    incoming.push(null);
    incoming.complete = true;
  };
  return { context, incoming, end };
}

function complete(bytes: number) {
  const request = arriving();
  request.send('{"put":[');
  for (let left = bytes; left > 0; left -= MB) {
    request.send(Math.min(left, MB) - 3);
    request.send('1, ');
  }
  request.send('1]}');
  request.end();
  return request.context;
}

/** All that can happen without new input has happened. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

afterEach(() => void vi.useRealTimers());

describe('bodies', () => {
  it('count while they come and until they are released', async () => {
    const intake = new BodyIntake();
    const request = arriving();
    const reading = intake.read(request.context, TOOLS_BODY);
    request.send('{"put":');
    await vi.waitFor(() => expect(intake.held).toBeGreaterThan(7));
    request.send('[1]}');
    request.end();
    const body = await reading;
    expect(Buffer.from(body.bytes).toString()).toBe('{"put":[1]}');
    expect(body.lists).toMatchObject([{ key: 'put', bounds: [8, 9] }]);
    expect(intake.held).toBeGreaterThan(11);
    body.release();
    expect(intake.held).toBe(0);
  });

  it('hold only what has come, whatever they announced', async () => {
    const intake = new BodyIntake();
    const requests = Array.from({ length: 30 }, () => arriving({ 'content-length': `${30 * MB}` }));
    const readings = requests.map(({ context }) => intake.read(context, TOOLS_BODY).catch(() => null));
    for (const { send } of requests) send('{');
    await settled();
    expect(intake.held).toBeLessThan(MB);
    for (const { breakOff } of requests) breakOff();
    await Promise.all(readings);
    expect(intake.held).toBe(0);
  });

  it('are held as what they are, not as the packets in which they came', async () => {
    const intake = new BodyIntake();
    const request = arriving();
    const reading = intake.read(request.context, TOOLS_BODY);
    const packet = Buffer.alloc(64 * 1024);
    for (let i = 0; i < 1000; i++)
      request.send(
        packet
          .subarray(i, i + 1)
          .fill(' ')
          .toString(),
      );
    request.end();
    const body = await reading;
    expect(body.bytes.buffer.byteLength).toBeLessThan(4096);
    body.release();
  });

  it('that came with their heads are read at once, whatever memory their pieces have', async () => {
    const intake = new BodyIntake();
    const alone = (text: string) => Uint8Array.from(Buffer.from(text));
    for (const pieces of [
      [alone('{"put":[1, 22]}')],
      [Buffer.from('{"put":[1, 22]}')],
      [alone('{"put":'), alone('[1, 22'), Buffer.from(']}')],
    ]) {
      const { context, end } = here(...pieces);
      end();
      const body = await intake.read(context, TOOLS_BODY);
      expect(Buffer.from(body.bytes).toString()).toBe('{"put":[1, 22]}');
      expect(body.lists).toMatchObject([{ key: 'put', bounds: [8, 9, 10, 13] }]);
      expect(intake.held).toBeGreaterThan(body.bytes.buffer.byteLength);
      body.release();
      expect(intake.held).toBe(0);
    }
    const empty = here();
    empty.end();
    expect((await intake.read(empty.context, TOOLS_BODY)).bytes).toHaveLength(0);
    const large = here(alone('{"put":[1, 22]}'));
    large.end();
    const small = { ...TOOLS_BODY, bytes: 14 };
    await expect(intake.read(large.context, small)).rejects.toMatchObject({ code: 'body-too-large' });
  });

  it('that are as long as their heads say are not waited for any longer, and end all the same', async () => {
    const intake = new BodyIntake();
    const { context, incoming, end } = here(Buffer.from('{"put":[1]}'));
    incoming.headers = { 'content-length': '11' };
    const ended = once(incoming, 'end');
    (await intake.read(context, TOOLS_BODY)).release();
    end();
    await ended;
    const short = here(Buffer.from('{"put":[1]'));
    short.incoming.headers = { 'content-length': '11' };
    const reading = intake.read(short.context, TOOLS_BODY);
    expect(await Promise.race([reading, settled().then(() => 'is waited for')])).toBe('is waited for');
    short.incoming.push('}');
    short.end();
    (await reading).release();
  });

  it('that are here, but whose client is gone, are refused', async () => {
    const intake = new BodyIntake();
    const { context, incoming } = here(Buffer.from('{"put":[1]}'));
    incoming.headers = { 'content-length': '11' };
    incoming.destroy();
    await expect(intake.read(context, TOOLS_BODY)).rejects.toMatchObject({ code: 'malformed-request' });
    expect(intake.held).toBe(0);
  });

  it('that are to come, but whose client is gone already, are refused at once', async () => {
    const intake = new BodyIntake();
    const { context, incoming } = here(Buffer.from('{"put":'));
    incoming.headers = { 'content-length': '11' };
    incoming.destroy();
    await once(incoming, 'close');
    await expect(intake.read(context, TOOLS_BODY)).rejects.toMatchObject({ code: 'malformed-request' });
    expect(intake.held).toBe(0);
  });

  it('whose pieces have their memory for themselves are put together', async () => {
    const intake = new BodyIntake();
    const request = arriving();
    const reading = intake.read(request.context, TOOLS_BODY);
    for (const piece of ['{"put":', '[1, 22', ']}']) {
      request.sendAlone(piece);
      await settled();
    }
    request.end();
    const body = await reading;
    expect(Buffer.from(body.bytes).toString()).toBe('{"put":[1, 22]}');
    body.release();
    expect(intake.held).toBe(0);
  });

  it('that are large find no room beside others, small ones still do', async () => {
    const intake = new BodyIntake({ maxHeldBytes: 16 * MB });
    const held = await intake.read(complete(4 * MB), TOOLS_BODY);
    await expect(intake.read(complete(4 * MB), TOOLS_BODY)).rejects.toMatchObject({
      code: 'too-many-requests',
      retryAfterSeconds: 2,
    });
    const small = await intake.read(complete(1000), TOOLS_BODY);
    small.release();
    held.release();
    expect(intake.held).toBe(0);
    (await intake.read(complete(4 * MB), TOOLS_BODY)).release();
  });

  it('that are large do not wait for others to be answered', async () => {
    const intake = new BodyIntake();
    const bodies = [];
    for (let i = 0; i < 4; i++) bodies.push(await intake.read(complete(2 * MB), TOOLS_BODY));
    for (const { release } of bodies) release();
    expect(intake.held).toBe(0);
  });

  it('need room for what is parsed of them, too: many short values more than few long ones', async () => {
    const intake = new BodyIntake({ maxHeldBytes: 64 * MB });
    const full = (one: string, bytes: number): Context => {
      const request = arriving();
      request.send(
        `{"put":[${Array(Math.ceil(bytes / one.length))
          .fill(one)
          .join('')}1]}`,
      );
      request.end();
      return request.context;
    };
    const long = await intake.read(full(`"${'x'.repeat(10_000)}",`, 4 * MB), TOOLS_BODY);
    expect(intake.held).toBeLessThan(15 * MB);
    const short = `[${'0,'.repeat(999)}0],`;
    await expect(intake.read(full(short, 2 * MB), TOOLS_BODY)).rejects.toMatchObject({
      code: 'too-many-requests',
    });
    long.release();
    expect(intake.held).toBe(0);
  });

  it('that come too slowly are refused, slow ones that keep the pace are not', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const intake = new BodyIntake({ pace: { bytesPerSecond: 100, graceSeconds: 10 } });
    const [slow, steady] = [arriving(), arriving()];
    const refused = intake.read(slow.context, TOOLS_BODY).catch((reason: unknown) => reason);
    const read = intake.read(steady.context, TOOLS_BODY);
    slow.send(500);
    for (let second = 0; second < 40; second++) {
      steady.send(100);
      await vi.advanceTimersByTimeAsync(1000);
    }
    expect(await refused).toMatchObject({ code: 'request-timeout' });
    steady.end();
    (await read).release();
    expect(intake.held).toBe(0);
  });

  it('that break off are refused', async () => {
    const intake = new BodyIntake();
    const request = arriving();
    const reading = intake.read(request.context, TOOLS_BODY);
    request.send('{');
    request.breakOff();
    await expect(reading).rejects.toMatchObject({ code: 'malformed-request' });
    expect(intake.held).toBe(0);
  });
});
