import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { auth, extractWWWAuthenticateParams } from '@modelcontextprotocol/client';
import { StoredAuthorization } from './stored-authorization.ts';
import { type TokenStore, TokenStoreError } from './token-store.ts';

export interface LoginOptions {
  readonly url: string;
  readonly source: string;
  readonly fetch: typeof fetch;
  readonly now: () => number;
  /** Shows the address, and opens it where there is a browser. */
  readonly show: (address: URL) => void;
  readonly signal: AbortSignal;
  readonly clientId?: string;
  readonly scope?: string;
  /** Of the loopback address that the browser comes back to; a free one where absent. */
  readonly port?: number;
}

/** The login came to nothing. The message says why. */
export class LoginError extends Error {
  override readonly name = 'LoginError';
}

/**
 * Walks a user through the authorization of a server in the browser (OAuth 2.1, code with PKCE), and stores the tokens.
 * Returns false when the server wants none. @throws LoginError, TokenStoreError, OutgoingError
 */
export async function login(store: TokenStore, options: LoginOptions): Promise<boolean> {
  const { url, source, signal, now, clientId } = options;
  store.assertWritable();
  const challenge = await askedWithoutToken(options);
  if (challenge === null) return false;
  const state = randomBytes(16).toString('base64url');
  const server = createServer();
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening', { signal });
  try {
    const redirectUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
    const returned = comesBack(server, state, signal);
    returned.catch(() => {});
    const provider = new StoredAuthorization(store, { url, source }, now, {
      redirectUrl,
      state,
      redirect: options.show,
      ...(clientId === undefined ? {} : { clientId }),
    });
    const { resourceMetadataUrl } = challenge;
    const scope = options.scope ?? challenge.scope;
    const given = {
      serverUrl: url,
      fetchFn: options.fetch,
      ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
      ...(scope === undefined ? {} : { scope }),
    };
    await step(auth(provider, given));
    const { code, iss } = await returned;
    // Only now somebody waits for the file: the browser may take minutes.
    const answer = { ...given, authorizationCode: code, ...(iss === null ? {} : { iss }) };
    await store.locked(() => step(auth(provider, answer)));
    return true;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** What the SDK throws says what the servers did wrong. */
async function step(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (error instanceof TokenStoreError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new LoginError(`There is no logging in at this server: ${why}`, { cause: error });
  }
}

/** What the server says about its authorization when it is asked without a token; null: it wants none. */
async function askedWithoutToken({ url, fetch, signal }: LoginOptions) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    signal,
  });
  await response.body?.cancel();
  return response.status === 401 || response.status === 403 ? extractWWWAuthenticateParams(response) : null;
}

/** Waits for the browser. What did not begin here is answered and passed over. */
function comesBack(
  server: Server,
  state: string,
  signal: AbortSignal,
): Promise<{ code: string; iss: string | null }> {
  return new Promise((resolve, reject) => {
    signal.addEventListener(
      'abort',
      () => reject(new LoginError('Nobody came back from the browser in time.')),
      { once: true },
    );
    server.on('request', (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
      const isOurs = pathname === '/callback' && searchParams.get('state') === state;
      const error = searchParams.get('error');
      const code = searchParams.get('code');
      const words = !isOurs
        ? 'This is not the login that was begun here.'
        : error !== null || code === null
          ? 'The server refused the login. You can close this window.'
          : 'You are logged in. You can close this window.';
      response.writeHead(isOurs ? 200 : 400, {
        'content-type': 'text/plain; charset=utf-8',
        connection: 'close',
      });
      response.end(words, () => {
        if (!isOurs) return;
        if (code !== null && error === null) resolve({ code, iss: searchParams.get('iss') });
        else
          reject(
            new LoginError(
              `The server refused the login: ${searchParams.get('error_description') ?? error ?? 'no code'}.`,
            ),
          );
      });
    });
  });
}
