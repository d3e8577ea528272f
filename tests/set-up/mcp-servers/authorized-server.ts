import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** An MCP server that wants OAuth, together with its authorization server, on a loopback address. */
export interface AuthorizedServer {
  readonly url: string;
  /** Ends every access token, so that each has to be renewed. */
  expire(): void;
  /** Whether a refresh token was used a second time, which real servers take for theft. */
  readonly wasReused: () => boolean;
  readonly refreshes: () => number;
  /** The user refuses. */
  refuse: boolean;
  close(): Promise<void>;
}

export async function startAuthorizedServer(expiresIn?: number): Promise<AuthorizedServer> {
  const codes = new Map<string, { challenge: string; redirect: string; client: string }>();
  const clients = new Map<string, string[]>();
  const access = new Set<string>();
  const refresh = new Set<string>();
  const spent = new Set<string>();
  let reused = false;
  let refreshes = 0;
  const handler = createMcpHandler(
    () => {
      const server = new McpServer({ name: 'guarded', version: '1' });
      const inputSchema = z.object({ text: z.string() });
      server.registerTool('echo', { inputSchema }, ({ text }) => ({ content: [{ type: 'text', text }] }));
      return server;
    },
    { legacy: 'reject' },
  );
  const issue = () => {
    const tokens = {
      access_token: randomBytes(8).toString('hex'),
      refresh_token: randomBytes(8).toString('hex'),
    };
    access.add(tokens.access_token);
    refresh.add(tokens.refresh_token);
    return { ...tokens, token_type: 'Bearer', ...(expiresIn === undefined ? {} : { expires_in: expiresIn }) };
  };
  const server = createServer(async (request, response) => {
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { pathname, searchParams } = new URL(request.url ?? '/', base);
    const body = await bodyOf(request);
    const json = (status: number, value: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    if (pathname === '/.well-known/oauth-protected-resource/mcp') {
      json(200, { resource: `${base}/mcp`, authorization_servers: [base] });
    } else if (pathname === '/.well-known/oauth-authorization-server') {
      json(200, {
        issuer: base,
        authorization_endpoint: `${base}/authorize`,
        token_endpoint: `${base}/token`,
        registration_endpoint: `${base}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_methods_supported: ['none'],
      });
    } else if (pathname === '/register') {
      const metadata = JSON.parse(body);
      const client = randomBytes(4).toString('hex');
      clients.set(client, metadata.redirect_uris);
      json(201, { ...metadata, client_id: client });
    } else if (pathname === '/authorize') {
      const redirect = searchParams.get('redirect_uri') ?? '';
      const client = searchParams.get('client_id') ?? '';
      if (!clients.get(client)?.includes(redirect)) return json(400, { error: 'invalid_request' });
      const code = randomBytes(8).toString('hex');
      codes.set(code, { challenge: searchParams.get('code_challenge') ?? '', redirect, client });
      const back = new URL(redirect);
      back.searchParams.set('state', searchParams.get('state') ?? '');
      if (authorized.refuse) back.searchParams.set('error', 'access_denied');
      else back.searchParams.set('code', code);
      response.writeHead(302, { location: back.href }).end();
    } else if (pathname === '/token') {
      const form = new URLSearchParams(body);
      if (form.get('grant_type') === 'authorization_code') {
        const code = codes.get(form.get('code') ?? '');
        codes.delete(form.get('code') ?? '');
        const challenge = createHash('sha256')
          .update(form.get('code_verifier') ?? '')
          .digest('base64url');
        if (
          code === undefined ||
          code.challenge !== challenge ||
          code.redirect !== form.get('redirect_uri')
        ) {
          return json(400, { error: 'invalid_grant' });
        }
        return json(200, issue());
      }
      refreshes++;
      const token = form.get('refresh_token') ?? '';
      if (spent.has(token)) {
        // Somebody has stolen it, so everything ends.
        reused = true;
        refresh.clear();
        access.clear();
      }
      if (!refresh.delete(token)) return json(400, { error: 'invalid_grant' });
      spent.add(token);
      json(200, issue());
    } else if (pathname === '/mcp') {
      const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
      if (!access.has(token)) {
        const metadata = `${base}/.well-known/oauth-protected-resource/mcp`;
        response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` }).end();
        return;
      }
      const answer = await handler.fetch(
        new Request(`${base}/mcp`, {
          method: request.method ?? 'POST',
          headers: Object.entries(request.headers) as [string, string][],
          ...(body === '' ? {} : { body }),
        }),
      );
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.end(await answer.text());
    } else json(404, {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const authorized: AuthorizedServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    expire: () => access.clear(),
    wasReused: () => reused,
    refreshes: () => refreshes,
    refuse: false,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return authorized;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
