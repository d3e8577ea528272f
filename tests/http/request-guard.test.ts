import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { RequestGuard } from '../../src/http/request-guard.ts';

const JSON_BODY = { 'content-type': 'application/json' };

function codeOf(
  headers: Record<string, string>,
  { method = 'GET', url = '/v1/catalogs', allowed = '', isProbe = false } = {},
): string | null {
  const rawHeaders = Object.entries(headers).flat();
  const request = { method, url, headers, rawHeaders } as unknown as IncomingMessage;
  return new RequestGuard(allowed).fault(request, isProbe)?.code ?? null;
}

describe('Host', () => {
  it.each([
    'localhost',
    'localhost:8787',
    'LocalHost:1',
    'localhost.',
    'localhost:',
    'router.localhost:8787',
    '127.0.0.1',
    '127.1.2.3:80',
    '[::1]',
    '[::1]:8787',
    '[0:0:0:0:0:0:0:1]:8787',
  ])('%s is this machine', (host) => {
    expect(codeOf({ host })).toBeNull();
  });

  it.each([
    'evil.example',
    'evil.example:8787',
    'localhost.evil.example',
    'notlocalhost',
    '127.0.0.1.evil.example',
    '10.0.0.1',
    '0.0.0.0',
    '[::2]',
    '[fe80::1]:8787',
    '2130706433',
  ])('%s is not', (host) => {
    expect(codeOf({ host })).toBe('host-not-allowed');
  });

  it.each([
    'user@localhost',
    'localhost@evil.example',
    'localhost/..',
    'localhost#a',
    'local host',
    'localhost:8787:1',
    'localhost:port',
    '[::1',
    '::1',
    '[::g]',
    '[127.0.0.1]',
    'localhost..',
    '.localhost',
    'l%6fcalhost',
    'localhost,evil.example',
    '',
  ])('"%s" is malformed', (host) => {
    expect(codeOf({ host })).toBe('malformed-request');
  });

  it('may be one that was allowed, in upper case and with a dot', () => {
    const allowed = 'Router.example.com,10.0.0.7:8080,[fd00:0::7]:80';
    for (const host of ['router.example.com', 'ROUTER.example.com.:1', '10.0.0.7:8080', '[fd00::7]:80']) {
      expect(codeOf({ host }, { allowed })).toBeNull();
    }
    for (const host of ['10.0.0.7', '10.0.0.7:8081', '[fd00::7]', 'a.router.example.com', 'example.com']) {
      expect(codeOf({ host }, { allowed })).toBe('host-not-allowed');
    }
  });

  it('has to be the one of the target', () => {
    const host = 'localhost:8787';
    expect(codeOf({ host }, { url: 'http://LOCALHOST:8787/v1/catalogs' })).toBeNull();
    expect(codeOf({ host }, { url: 'http://evil.example/v1/catalogs' })).toBe('malformed-request');
    expect(codeOf({ host }, { url: 'http://localhost:8787@evil.example/' })).toBe('malformed-request');
    const evil = { host: 'evil.example' };
    expect(codeOf(evil, { url: 'http://evil.example/v1/catalogs' })).toBe('host-not-allowed');
  });

  it('is compared with the target also after requests with the same one were let in', () => {
    const guard = new RequestGuard();
    const code = (url: string) => {
      const host = 'localhost:8787';
      const request = { method: 'GET', url, headers: { host }, rawHeaders: ['Host', host] };
      return guard.fault(request as unknown as IncomingMessage, false)?.code ?? null;
    };
    for (let time = 0; time < 2; time++) {
      expect(code('/v1/catalogs')).toBeNull();
      expect(code('http://localhost:8787/v1/catalogs')).toBeNull();
      expect(code('http://evil.example/v1/catalogs')).toBe('malformed-request');
      expect(code('http://localhost:8787@evil.example/')).toBe('malformed-request');
    }
  });

  it('may be missing, or any, for a probe alone', () => {
    expect(codeOf({})).toBe('malformed-request');
    expect(codeOf({}, { isProbe: true })).toBeNull();
    expect(codeOf({ host: '10.1.2.3:8787' }, { isProbe: true })).toBeNull();
  });
});

describe('Origin', () => {
  const post = { method: 'POST' };

  it.each([
    ['localhost:8787', 'http://localhost:8787'],
    ['LOCALHOST:8787', 'http://localhost:8787'],
    ['localhost', 'http://localhost:80'],
    ['localhost', 'https://localhost'],
    ['[::1]:8787', 'http://[::1]:8787'],
  ])('of the same host (%s, %s) is let in, also without a body', (host, origin) => {
    expect(codeOf({ host, origin }, post)).toBeNull();
  });

  it.each([
    'null',
    '',
    'http://evil.example',
    'http://localhost:3000',
    'http://localhost',
    'https://localhost',
    'http://127.0.0.1:8787',
    'http://localhost:8787.evil.example',
    'http://localhost:8787@evil.example',
    'http://localhost:8787, http://evil.example',
    'file://localhost:8787',
    'chrome-extension://localhost:8787',
    'localhost:8787',
  ])('"%s" is refused, whatever else the request shows', (origin) => {
    const headers = { host: 'localhost:8787', origin, 'x-bandolier': '1', ...JSON_BODY };
    expect(codeOf(headers, post)).toBe('origin-not-allowed');
    expect(codeOf(headers)).toBe('origin-not-allowed');
    expect(codeOf(headers, { isProbe: true, url: '/metrics' })).toBe('origin-not-allowed');
  });

  it('may be an allowed host, where a proxy in front says another one', () => {
    const allowed = 'router.example.com:443';
    const from = (origin: string) => codeOf({ host: '127.0.0.1:8787', origin }, { allowed, ...post });
    expect(from('https://router.example.com')).toBeNull();
    expect(from('http://router.example.com')).toBe('origin-not-allowed');
  });
});

describe('Sec-Fetch-Site', () => {
  const headers = { host: 'localhost', 'sec-fetch-site': 'cross-site' };

  it('cross-site is refused unless somebody followed a link', () => {
    expect(codeOf({ ...headers, 'sec-fetch-mode': 'no-cors' })).toBe('origin-not-allowed');
    const link = { ...headers, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    expect(codeOf(link)).toBeNull();
    expect(codeOf({ ...link, 'sec-fetch-dest': 'iframe' })).toBe('origin-not-allowed');
    expect(codeOf(link, { method: 'POST' })).toBe('origin-not-allowed');
    expect(codeOf({ ...headers, 'sec-fetch-site': 'none' })).toBeNull();
  });
});

describe('a request that changes something', () => {
  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])('shows that it is no form: %s', (method) => {
    const host = 'localhost';
    expect(codeOf({ host }, { method })).toBe('unsupported-media-type');
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      expect(codeOf({ host, 'content-type': type }, { method })).toBe('unsupported-media-type');
    }
    const remembered = { host, authorization: 'Basic eA==' };
    expect(codeOf(remembered, { method })).toBe('unsupported-media-type');
    expect(codeOf({ host, ...JSON_BODY }, { method })).toBeNull();
    expect(codeOf({ host, 'x-bandolier': '1' }, { method })).toBeNull();
  });
});

describe('a guard with a key', () => {
  const key = 'k'.repeat(16);
  const guard = new RequestGuard('', key);
  const code = (
    headers: Record<string, string>,
    { method = 'GET', url = '/v1/catalogs', isProbe = false } = {},
  ) => {
    const rawHeaders = Object.entries(headers).flat();
    return (
      guard.fault({ method, url, headers, rawHeaders } as unknown as IncomingMessage, isProbe)?.code ?? null
    );
  };
  const authorization = `Bearer ${key}`;

  it('lets in who has it, under any name and with any method', () => {
    expect(code({ host: 'router.example', authorization })).toBeNull();
    expect(code({ host: 'localhost', authorization: `bearer  ${key}` }, { method: 'POST' })).toBeNull();
  });

  it.each([
    undefined,
    '',
    'Bearer',
    `Bearer ${key}k`,
    `Bearer ${key.slice(1)}`,
    `Basic ${key}`,
    key,
    `Bearer x ${key}`,
  ])('refuses %s', (given) => {
    const headers = { host: 'localhost', ...(given !== undefined && { authorization: given }) };
    expect(code(headers)).toBe('unauthorized');
    expect(code(headers, { method: 'POST', url: '/docs' })).toBe('unauthorized');
  });

  it('shows probes and the documentation to everybody, the latter not to pages of others', () => {
    expect(code({ host: 'a.b' }, { url: '/livez', isProbe: true })).toBeNull();
    for (const url of ['/docs', '/docs/start.js', '/openapi.json']) {
      expect(code({ host: 'localhost' }, { url })).toBeNull();
      expect(code({ host: 'evil.example' }, { url })).toBe('host-not-allowed');
    }
    for (const url of ['/docs/../v1/catalogs', '/docsx', '/openapi.jsonx', 'http://localhost/docs']) {
      expect(code({ host: 'localhost' }, { url })).toBe('unauthorized');
    }
  });
});
