import { packageVersion } from '../../config/package-root.ts';
import type { Settings } from '../../config/settings.ts';
import { outgoingFetch } from '../outgoing/fetch.ts';
import {
  type McpAddress,
  type McpConnection,
  type McpConnectionOptions,
  McpError,
} from '../outgoing/mcp/mcp-connection.ts';
import { openMcpConnection } from '../outgoing/mcp/open-mcp-connection.ts';

/** Connects to the MCP server of a source. @throws McpError */
export type OpenServer = (
  source: string,
  address: McpAddress,
  options: Pick<McpConnectionOptions, 'signal' | 'log' | 'era' | 'onInputRequest'>,
) => Promise<McpConnection>;

const TOKEN_REQUEST_MS = 30_000;
const MAX_TOKEN_BYTES = 1_000_000;

/**
 * Requests of OAuth keep to the rules for servers, too.
 * @param trusted address whose host the operator himself named
 */
export function tokenFetch(settings: Settings, trusted?: string): typeof fetch {
  const { allowPrivateHosts: allowPrivate } = settings;
  return outgoingFetch({ allowPrivate, trusted, timeoutMs: TOKEN_REQUEST_MS, maxBytes: MAX_TOKEN_BYTES });
}

/** Servers get the tokens of `bandolier sources login`, unless their headers say what authorizes us. */
export function serverOpener(settings: Settings, now: () => number): OpenServer {
  return async (source, address, options) => {
    const rules = { ...options, allowPrivate: settings.allowPrivateHosts, version: packageVersion() };
    const isAuthorized = 'url' in address && !hasAuthorization(address.headers);
    if (!isAuthorized) return notOurselves(address, await openMcpConnection(address, rules));
    // Both load the SDK for MCP, which those should not wait for who connect to nothing.
    const { authorizationOf } = await import('../gateway/oauth/stored-authorization.ts');
    const { TokenStore } = await import('../gateway/oauth/token-store.ts');
    const place = { source, url: address.url };
    const store = new TokenStore(settings.dataDir, place, settings.tokenKey);
    const trusted = address.isTrusted ? address.url : undefined;
    const auth = authorizationOf(store, place, tokenFetch(settings, trusted), now);
    return openMcpConnection(address, { ...rules, auth });
  };
}

/** What our front calls itself. */
const OUR_NAME = 'bandolier';

/** A program that leads back to the service that starts it would offer the tools of that once more. */
async function notOurselves(address: McpAddress, connection: McpConnection): Promise<McpConnection> {
  if (!('command' in address) || connection.server?.name !== OUR_NAME) return connection;
  await connection.close();
  throw new McpError(
    'unreachable',
    'this program is Bandolier itself, so its tools are left out: remove the source, or name another service by its url',
  );
}

function hasAuthorization(headers: Readonly<Record<string, string>> = {}): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
}
