import { spawn } from 'node:child_process';
import { Command } from 'commander';
import { TokenStore } from '../gateway/oauth/token-store.ts';
import { tokenFetch } from '../service/open-server.ts';
import type { WholeSourceView } from '../sources/sources.ts';
import { ApiClient, catalogPath } from './api-client.ts';
import {
  catalogOption,
  dataDirOption,
  type SettingFlags,
  serviceUrl,
  settingsWith,
  urlOption,
  wholeNumber,
} from './options.ts';
import { UserError } from './terminal.ts';

/** How long somebody may take in the browser, ms. */
const LOGIN_MS = 600_000;

export function sourcesLoginCommand(): Command {
  return new Command('login')
    .description('authorize the service at an MCP server that wants OAuth, in the browser')
    .argument('<name>', 'source of kind mcp')
    .addOption(catalogOption())
    .addOption(urlOption)
    .addOption(dataDirOption)
    .option('--server <address>', 'of the MCP server; default: what the service says about the source')
    .option('--client-id <id>', 'of a client that was registered there by hand, for a loopback address')
    .option('--scope <scopes>', 'what to ask for, with blanks between; default: what the server says')
    .option(
      '--callback-port <number>',
      'of the loopback address, where one was registered',
      wholeNumber(1, 65_535),
    )
    .addHelpText(
      'after',
      `
Needs BANDOLIER_TOKEN_KEY, a secret of your own, here and where the service runs: tokens are kept encrypted in the data folder,
and renewed by themselves. Run it on the machine of the service.

Example:
  bandolier sources login github`,
    )
    .action(run);
}

interface LoginFlags extends SettingFlags {
  readonly catalog: string;
  readonly url?: string;
  readonly server?: string;
  readonly clientId?: string;
  readonly scope?: string;
  readonly callbackPort?: number;
}

async function run(source: string, flags: LoginFlags): Promise<void> {
  const { settings } = settingsWith(flags);
  const url = flags.server ?? (await addressOf(source, flags));
  const { clientId, scope, callbackPort: port } = flags;
  // Loads the SDK for MCP, which the other commands about sources should not wait for.
  const { login } = await import('../gateway/oauth/login.ts');
  const wanted = await login(new TokenStore(settings.dataDir, { source, url }, settings.tokenKey), {
    ...{ url, source, show },
    fetch: tokenFetch(settings, flags.server),
    now: Date.now,
    signal: AbortSignal.timeout(LOGIN_MS),
    ...(clientId === undefined ? {} : { clientId }),
    ...(scope === undefined ? {} : { scope }),
    ...(port === undefined ? {} : { port }),
  });
  process.stdout.write(
    wanted
      ? `You are logged in at ${new URL(url).host}; the service uses it from now on.\n`
      : `${new URL(url).host} wants no authorization.\n`,
  );
}

async function addressOf(source: string, { catalog, url }: LoginFlags): Promise<string> {
  const path = `${catalogPath(catalog)}/sources/${encodeURIComponent(source)}`;
  const { definition } = await new ApiClient(serviceUrl(url)).get<WholeSourceView>(path);
  if (definition.kind === 'mcp' && 'url' in definition && !definition.url.includes('${'))
    return definition.url;
  throw new UserError(`Source "${source}" has no address of an MCP server: name it with --server.`);
}

/** The address is printed in any case: the browser may be on another machine, or there may be none. */
function show(address: URL): void {
  process.stdout.write(
    `Open this address in a browser of this machine, and log in:\n\n  ${address.href}\n\n`,
  );
  // The address is the server's: a browser gets no other kind, and no shell sees it.
  if (!process.stdout.isTTY || !/^https?:$/.test(address.protocol)) return;
  const [command, ...args] = BROWSERS[process.platform] ?? ['xdg-open'];
  const browser = spawn(command, [...args, address.href], { stdio: 'ignore', detached: true });
  browser.on('error', () => {});
  browser.unref();
}

const BROWSERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};
