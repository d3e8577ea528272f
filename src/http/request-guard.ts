import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import { isLoopback } from '../../config/loopback.ts';
import { Problem } from '../errors/problem.ts';

/** A host with its port: what a URL has between `//` and the path. */
interface Authority {
  /** In lower case, without the dot at the end; IPv6 in brackets and in its shortest form. */
  readonly name: string;
  readonly port: string | null;
}

const CHANGING = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/**
 * Keeps web pages out. A browser lets any page send requests to this machine, and a page can give its own name our
 * address (DNS rebinding); but the browser says in `Host`, `Origin` and `Sec-Fetch-*` which page it was, and only
 * lets other sites' pages send what a form could send.
 */
export class RequestGuard {
  readonly #allowed: readonly Authority[];
  /** SHA-256 of the key, so that every comparison is one of 32 bytes; null: no key is needed. */
  readonly #key: Buffer | null;
  /** The last one that was found to be allowed: clients send the same one each time. */
  #knownHost: string | null = null;

  /**
   * @param allowedHosts beside loopback names: `router.example.com,10.0.0.7:8080`; without a port, every port.
   * @param key what requests have to carry; null: nothing.
   */
  constructor(allowedHosts = '', key: string | null = null) {
    this.#allowed = allowedHosts.split(',').flatMap((host) => authorityOf(host.trim()) ?? []);
    this.#key = key === null ? null : digest(key);
  }

  /** What speaks against answering, from the head alone. Probes may come under any host, and need no key. */
  fault(request: IncomingMessage, isProbe: boolean): Problem | null {
    if (this.#key === null || isProbe) return this.#pageFault(request, isProbe);
    // No web page knows the key, so whoever has it may ask under any name.
    if (hasKey(request, this.#key)) return null;
    return (isDocumentation(request) ? null : keyMissing(request)) ?? this.#pageFault(request, isProbe);
  }

  #pageFault(request: IncomingMessage, isProbe: boolean): Problem | null {
    const fault = isProbe ? null : this.#hostFault(request);
    if (fault !== null) return fault;
    const { origin, 'sec-fetch-site': site } = request.headers;
    if (origin !== undefined) {
      if (!this.#isOwn(origin, request)) return foreignPage(`the origin ${quoted(origin)}`);
    } else if (site === 'cross-site' && !isNavigation(request)) return foreignPage('another site');
    else if (CHANGING.has(request.method ?? '') && !cannotBeForm(request)) return couldBeForm();
    return null;
  }

  #hostFault(request: IncomingMessage): Problem | null {
    const hosts = hostsOf(request);
    if (hosts.length !== 1) {
      return malformed(`The request has ${hosts.length === 0 ? 'no' : 'several'} \`Host\` headers.`);
    }
    const isPath = request.url?.startsWith('/') ?? false;
    if (isPath && hosts[0] === this.#knownHost) return null;
    const host = authorityOf(hosts[0]);
    if (host === null) return malformed(`The \`Host\` header ${quoted(hosts[0])} is no name with a port.`);
    const target = /^https?:\/\/([^/?#]*)/i.exec(request.url ?? '');
    if (target !== null && target[1].toLowerCase() !== hosts[0].toLowerCase()) {
      return malformed('The request target and the `Host` header name different hosts.');
    }
    if (this.#isAllowed(host)) {
      this.#knownHost = hosts[0];
      return null;
    }
    return new Problem(
      'host-not-allowed',
      `This router is not known as ${quoted(hosts[0])}.`,
      `Ask it as localhost or 127.0.0.1, or start it with \`BANDOLIER_ALLOWED_HOSTS=${host.name}\` ` +
        'if that is a name of yours.',
    );
  }

  #isAllowed({ name, port }: Authority): boolean {
    if (isLoopback(name) || name.endsWith('.localhost')) return true;
    return this.#allowed.some((host) => host.name === name && (host.port === null || host.port === port));
  }

  /** The page came from the host that it asks, or from one of ours behind a proxy that changes `Host`. */
  #isOwn(origin: string, request: IncomingMessage): boolean {
    const [, scheme, rest] = /^(https?:)\/\/(.*)$/i.exec(origin) ?? [];
    const page = rest === undefined ? null : authorityOf(rest);
    const host = authorityOf(request.headers.host ?? '');
    if (page === null) return false;
    const standard = DEFAULT_PORTS[scheme.toLowerCase()];
    if (host !== null && host.name === page.name && (host.port ?? standard) === (page.port ?? standard)) {
      return true;
    }
    return this.#allowed.some(
      ({ name, port }) => name === page.name && (port === null || port === (page.port ?? standard)),
    );
  }
}

/** All `Host` headers: of several, Node keeps the first one in `headers`, without a word. */
function hostsOf({ rawHeaders }: IncomingMessage): string[] {
  const hosts: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name.length === 4 && name.toLowerCase() === 'host') hosts.push(rawHeaders[at + 1]);
  }
  return hosts;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** In constant time. */
function hasKey({ headers }: IncomingMessage, key: Buffer): boolean {
  const [, given] = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '') ?? [];
  return given !== undefined && timingSafeEqual(digest(given), key);
}

/** It says the same on every machine. */
function isDocumentation({ method, url = '' }: IncomingMessage): boolean {
  return (method === 'GET' || method === 'HEAD') && /^\/(docs(\/[\w.-]+)?|openapi\.json)(\?|$)/.test(url);
}

function keyMissing({ headers }: IncomingMessage): Problem {
  return new Problem(
    'unauthorized',
    headers.authorization === undefined
      ? 'The request has no key.'
      : 'The key of the request is not the one of this router.',
    'Send the header `Authorization: Bearer <key>`. The key is `BANDOLIER_API_KEY`, or stands in the file `api-key` in the data folder.',
  );
}

export function isJson(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true;
  const mediaType = contentType?.split(';')[0].trim().toLowerCase() ?? '';
  return /^application\/([\w.-]+\+)?json$/.test(mediaType);
}

/** No user, no path, no blanks: what a URL parser would put up with is not what a `Host` may be. */
function authorityOf(text: string): Authority | null {
  const [, name, port] =
    /^(\[[\da-f:.]+\]|[\w-]+(?:\.[\w-]+)*\.?)(?::(\d{0,5}))?$/.exec(text.toLowerCase()) ?? [];
  if (name === undefined) return null;
  const known = { port: port === undefined || port === '' ? null : port };
  if (!name.startsWith('[')) return { ...known, name: name.replace(/\.$/, '') };
  return isIPv6(name.slice(1, -1)) ? { ...known, name: new URL(`http://${name}`).hostname } : null;
}

/** The user followed a link: only the user sees the answer, not the page that has the link. */
function isNavigation({ method, headers }: IncomingMessage): boolean {
  const isReading = method === 'GET' || method === 'HEAD';
  return isReading && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
}

/** A form cannot send these, nor can `fetch` with `no-cors`. `Authorization` can come from a browser's memory. */
function cannotBeForm({ headers }: IncomingMessage): boolean {
  const own = [headers['x-bandolier'], headers['mcp-session-id']];
  return isJson(headers['content-type']) || own.some((header) => header !== undefined);
}

function foreignPage(whose: string): Problem {
  return new Problem(
    'origin-not-allowed',
    `The request comes from a web page of ${whose}.`,
    'Let a program of yours ask the router, not a page in a browser. Pages of hosts that ' +
      '`BANDOLIER_ALLOWED_HOSTS` names are let in.',
  );
}

function couldBeForm(): Problem {
  return new Problem(
    'unsupported-media-type',
    'A request that changes something has to show that no form in a web page sent it.',
    'Send the header `Content-Type: application/json`, also without a body, or `X-Bandolier: 1`.',
  );
}

function malformed(message: string): Problem {
  return new Problem('malformed-request', message, 'Send one `Host` header, such as `Host: localhost:8787`.');
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
