import { createServer, IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import type { Admission, Ticket } from './admission.ts';
import { front, type Handle } from './front.ts';
import { noTunnel, parserProblem, refuse, refuseConnection, unknownExpectation } from './refusals.ts';
import type { RequestGuard } from './request-guard.ts';

export interface Listener {
  /** `http://127.0.0.1:8787`. */
  readonly url: string;
  /** Takes no more requests, lets those in progress finish for at most `graceMs`, then cuts them off. */
  close(graceMs: number): Promise<void>;
}

/** The port is taken or may not be used; the message says what to do. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

export interface ListenOptions {
  readonly admission: Admission;
  readonly guard: RequestGuard;
  readonly host: string;
  readonly port: number;
}

/** A request on its way from the front to the app, with its ticket. */
class AdmittedRequest extends IncomingMessage {
  ticket: Ticket | undefined = undefined;
}

const SERVER_OPTIONS = {
  IncomingMessage: AdmittedRequest,
  // `Host` is looked at where everything else is that can be wrong with a request.
  requireHostHeader: false,
  headersTimeout: 10_000,
  requestTimeout: 120_000,
  connectionsCheckingInterval: 5000,
  // Longer than the 60 s after which load balancers close idle connections: the side that closes first loses no request.
  keepAliveTimeout: 65_000,
};
/** Connections that wait to be accepted; the system may allow fewer (`net.core.somaxconn`), and resets the others. */
const BACKLOG = 4096;

/** @throws ListenError */
export async function listen(app: Hono, { admission, guard, host, port }: ListenOptions): Promise<Listener> {
  const server = serverOf(front(guard, admission, handleWith(app)));
  const connections = new Set<Socket>();
  server.on('connection', (socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(error, host, port)));
    server.listen({ port, host, backlog: BACKLOG }, resolve);
  });
  return {
    url: urlOf(server.address() as AddressInfo),
    close: (graceMs) => closeServer(server, connections, admission, graceMs),
  };
}

/** Asks the app, and tells it which ticket its request has. */
function handleWith(app: Hono): Handle {
  const handle = getRequestListener(
    (request, { incoming, outgoing }) => {
      const { ticket } = incoming as AdmittedRequest;
      return app.fetch(request, { incoming, outgoing, ticket });
    },
    { hostname: 'localhost' },
  );
  return (request, response, ticket) => {
    (request as AdmittedRequest).ticket = ticket;
    return handle(request, response);
  };
}

function serverOf(handle: Handle): Server {
  const server = createServer(SERVER_OPTIONS, handle);
  server.on('checkContinue', handle);
  server.on('checkExpectation', (request, response) => refuse(request, response, unknownExpectation()));
  server.on('connect', (_request, socket) => refuseConnection(socket, noTunnel()));
  server.on('clientError', (error, socket) => refuseConnection(socket, parserProblem(error)));
  return server;
}

async function closeServer(
  server: Server,
  connections: ReadonlySet<Socket>,
  admission: Admission,
  graceMs: number,
): Promise<void> {
  admission.drain();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // Clients open connections in advance. Node does not count one as idle before its first request, and would wait for it.
  for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
  const cutOff = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(cutOff);
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): ListenError {
  const causes: Record<string, string> = {
    EADDRINUSE: `Port ${port} is taken. Stop what listens there, or choose another one with --port or BANDOLIER_PORT.`,
    EACCES: `Port ${port} may not be used by this user. Choose one above 1023 with --port or BANDOLIER_PORT.`,
    EADDRNOTAVAIL: `This machine has no address ${host}. Choose another one with --host or BANDOLIER_HOST.`,
    ENOTFOUND: `This machine does not know the address ${host}. Choose another one with --host or BANDOLIER_HOST.`,
  };
  return new ListenError(causes[error.code ?? ''] ?? `Cannot listen on ${host}:${port}: ${error.message}.`, {
    cause: error,
  });
}
