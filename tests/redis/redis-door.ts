import { connect, createServer, type Socket } from 'node:net';
import { freePort } from './redis-server.ts';

/** One address behind which another Redis can be put. */
export interface RedisDoor {
  readonly url: string;
  /** Ends all connections; new ones go to that port. */
  leadTo(port: number): void;
  dispose(): Promise<void>;
}

export async function openRedisDoor(port: number): Promise<RedisDoor> {
  let target = port;
  const sockets = new Set<Socket>();
  const server = createServer((from) => {
    const to = connect(target, '127.0.0.1');
    for (const [one, other] of [
      [from, to],
      [to, from],
    ]) {
      sockets.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  const own = await freePort();
  await new Promise<void>((resolve) => server.listen(own, '127.0.0.1', resolve));
  const endAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `redis://127.0.0.1:${own}`,
    leadTo: (other) => {
      target = other;
      endAll();
    },
    dispose: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        endAll();
      }),
  };
}
