import { randomBytes } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { errorCode } from './storage-errors.ts';

/**
 * Opens a socket in a folder, on which a process listens as long as it runs. Other processes connect to it to find out whether
 * the process runs. That works across containers, where process numbers differ, and for a paused process, but only among
 * processes on one kernel.
 */
export class LifeSign {
  /** File name of the socket; null where the file system has no sockets. */
  readonly name: string | null;
  readonly #hide: () => Promise<void>;

  private constructor(name: string | null, hide: () => Promise<void>) {
    this.name = name;
    this.#hide = hide;
  }

  static async show(folder: string): Promise<LifeSign> {
    const name = `${randomBytes(6).toString('hex')}.sock`;
    const address = await addressOf(folder, name);
    const server = address === null ? null : await listening(address.path);
    if (server === null) {
      await address?.close();
      return new LifeSign(null, async () => {});
    }
    return new LifeSign(name, async () => {
      await new Promise((resolve) => server.close(resolve));
      await address?.close();
      await rm(join(folder, name), { force: true });
    });
  }

  /** Removes the socket. */
  hide(): Promise<void> {
    return this.#hide();
  }
}

/**
 * `gone`: the socket was removed, by the process when it ended properly, or by a user.
 * `unknown`: the process cannot be asked.
 */
export type Life = 'alive' | 'dead' | 'gone' | 'unknown';

/** Returns whether the process that made this socket is alive. */
export async function askForLife(folder: string, name: string): Promise<Life> {
  const address = await addressOf(folder, name);
  if (address === null) return 'unknown';
  try {
    return await new Promise((resolve) => {
      const socket = connect(address.path);
      socket.once('connect', () => {
        socket.destroy();
        resolve('alive');
      });
      socket.once('error', (error) => resolve(FAILED_TO_CONNECT[errorCode(error) ?? ''] ?? 'unknown'));
    });
  } finally {
    await address.close();
  }
}

const FAILED_TO_CONNECT: Readonly<Record<string, Life>> = {
  ECONNREFUSED: 'dead',
  ENOENT: 'gone',
  EAGAIN: 'alive', // it is paused, and its backlog of connections is full
};

/** sockaddr_un holds 108 bytes on Linux and 104 elsewhere, the closing zero among them. */
const LONGEST_ADDRESS = 103;

interface Address {
  readonly path: string;
  close(): Promise<void>;
}

/** A path to the socket that is short enough for an address, valid until it is closed; null if there is none. */
async function addressOf(folder: string, name: string): Promise<Address | null> {
  const path = join(folder, name);
  if (Buffer.byteLength(path) <= LONGEST_ADDRESS) return { path, close: async () => {} };
  if (process.platform !== 'linux') return null;
  const handle = await open(folder, 'r');
  return { path: `/proc/self/fd/${handle.fd}/${name}`, close: () => handle.close() };
}

function listening(path: string): Promise<Server | null> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', () => resolve(null)); // no sockets here: the holder is judged by its heartbeats alone
    server.listen(path, () => resolve(server));
    server.unref();
  });
}
