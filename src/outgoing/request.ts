import { lookup as resolveHost } from 'node:dns';
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { isPrivateAddress } from './private-address.ts';

export interface OutgoingRequest {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Longest time without a byte from the other side, ms. */
  readonly timeoutMs: number;
  /** Addresses of this machine and of its own network may be asked. */
  readonly allowPrivate: boolean;
  /**
   * How many redirects are followed; each is checked as the first address was. None by default, and a redirect is
   * then an error. `answered`: the redirect is the answer, for callers that have rules of their own for following it.
   */
  readonly redirects?: number | 'answered';
  /**
   * False where the other side may have acted already when the connection breaks: the request is then not sent a
   * second time on a new connection. True by default.
   */
  readonly resend?: boolean;
  readonly signal?: AbortSignal;
}

/** The request was not made, or nothing that can be used came back. The message names no secrets. */
export class OutgoingError extends Error {
  override readonly name = 'OutgoingError';
  /** True where trying again may help. */
  readonly passing: boolean;

  constructor(message: string, passing: boolean, cause?: unknown) {
    super(message, { cause });
    this.passing = passing;
  }
}

/**
 * Answers as soon as the head of the response is there, whatever its status; the body is the caller's to read or to
 * destroy. @throws OutgoingError
 */
export async function ask(address: string, options: OutgoingRequest): Promise<IncomingMessage> {
  let url = urlOf(address);
  let headers = options.headers ?? {};
  const { redirects = 0 } = options;
  for (let left = redirects === 'answered' ? 0 : redirects; ; left--) {
    const response = await send(url, headers, options);
    if (redirects === 'answered') return response;
    const { location } = response.headers;
    const isRedirect = [301, 302, 303, 307, 308].includes(response.statusCode ?? 0);
    if (!isRedirect || location === undefined) return response;
    response.destroy();
    if (left <= 0) throw new OutgoingError(`${url.host} sends us elsewhere`, false);
    const next = urlOf(new URL(location, url).href);
    if (url.protocol === 'https:' && next.protocol !== 'https:') {
      throw new OutgoingError(`${url.host} sends us to an address without encryption`, false);
    }
    if (next.host !== url.host) headers = withoutSecrets(headers);
    url = next;
  }
}

/** The whole body as text. @throws OutgoingError when it is longer than this, or breaks off. */
export async function readText(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response) {
      size += chunk.length;
      if (size > maxBytes) throw new OutgoingError(`the answer is longer than ${maxBytes} bytes`, false);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof OutgoingError) throw error;
    throw new OutgoingError('the answer broke off', true, error);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function urlOf(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  throw new OutgoingError(`"${address}" is no http or https address`, false);
}

/** Any header may hold a key, and a key is for the host that it was given to: another one gets what holds none. */
function withoutSecrets(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => ['accept', 'range'].includes(name.toLowerCase())),
  );
}

function send(
  url: URL,
  headers: Readonly<Record<string, string>>,
  given: OutgoingRequest,
): Promise<IncomingMessage> {
  const { method = 'GET', body, timeoutMs, allowPrivate, signal, resend = true } = given;
  const refusal = `${url.host} is an address of this machine or its own network, and those are not allowed: the setting \`allowPrivateHosts\` (BANDOLIER_ALLOW_PRIVATE_HOSTS=true) allows them`;
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  // A host that is an address already is not looked up.
  if (!allowPrivate && isIP(host) !== 0 && isPrivateAddress(host)) {
    return Promise.reject(new OutgoingError(refusal, false));
  }
  const options: RequestOptions = {
    method,
    headers: {
      ...headers,
      ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    },
    timeout: timeoutMs,
    ...(signal === undefined ? {} : { signal }),
    ...(allowPrivate ? {} : { lookup: publicLookup(refusal) }),
  };
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options, resolve);
    request.on('timeout', () =>
      request.destroy(new OutgoingError(`no answer from ${url.host} within ${timeoutMs} ms`, true)),
    );
    request.on('error', (error) => {
      // A connection that was kept open may have been closed at the other end just now.
      const isStale = resend && request.reusedSocket && reasonOf(error) === 'ECONNRESET';
      if (isStale) send(url, headers, given).then(resolve, reject);
      else if (error instanceof OutgoingError) reject(error);
      else reject(new OutgoingError(`${url.host} cannot be reached (${reasonOf(error)})`, true, error));
    });
    request.end(body);
  });
}

/** Looks a name up, and fails if one of its addresses is private. */
function publicLookup(refusal: string): NonNullable<RequestOptions['lookup']> {
  return (hostname, options, callback) => {
    resolveHost(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) callback(error, []);
      else if (addresses.some(({ address }) => isPrivateAddress(address))) {
        callback(new OutgoingError(refusal, false), []);
      } else if (options.all === true) callback(null, addresses);
      else callback(null, addresses[0].address, addresses[0].family);
    });
  };
}

function reasonOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
