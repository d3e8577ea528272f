import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { Command } from 'commander';
import type { Settings } from '../../config/settings.ts';
import { type ConfiguredServer, expandAddress, readMcpConfig } from '../gateway/read-mcp-config.ts';
import type { SourceDefinition } from '../ledger/source-definition.ts';
import { type ServiceAddress, StdioBridge } from '../mcp/stdio-bridge.ts';
import type { McpAddress } from '../outgoing/mcp/mcp-connection.ts';
import type { Service } from '../service/service.ts';
import { readServiceUrl, type ServedConfig } from '../service/service-url.ts';
import type { ConfiguredServers } from '../service/tool-servers.ts';
import { SECRET_NAME } from '../sources/check-definition.ts';
import type { Secrets } from '../sources/secrets.ts';
import { DataFolderLockedError } from '../storage/data-folder.ts';
import { keyFor } from './api-client.ts';
import { catalogOption, dataDirOption, settingsWith, typedUrl, urlOption } from './options.ts';
import { reachable, type Server, startServer } from './serve.ts';
import { UserError, untilInterrupted } from './terminal.ts';

export function mcpCommand(): Command {
  return new Command('mcp')
    .description('an MCP server over stdio: one for all your tools')
    .option('--config <file>', 'put the servers of this file behind it (mcpServers, as clients have them)')
    .option('--user <id>', 'the user whose context is found, and for whom outcomes are learned')
    .addOption(catalogOption())
    .addOption(urlOption)
    .addOption(dataDirOption)
    .addHelpText(
      'after',
      `
What an MCP client starts. With BANDOLIER_URL or --url it is a way to the service there; else it opens the data folder (~/.bandolier
if none is set), or joins the process that has it: a service, or the \`bandolier mcp\` of another client.

With --config the servers of that file are read once, and known from then on: each is started by the first call of one of its tools,
and stopped when it is idle. A file of Claude Desktop, Claude Code, Cursor or VS Code can be used as it is.

It speaks the protocol on standard output, and writes what it has to say to people on standard error.

Example, in a client's configuration:
  {"mcpServers": {"bandolier": {"command": "bandolier", "args": ["mcp", "--config", "/home/me/mcp.json"]}}}
The package is not published yet: \`npm link\` in a clone makes the command, or start node with /path/to/bandolier.js before "mcp".`,
    )
    .action(mcp);
}

interface McpOptions {
  readonly catalog: string;
  readonly config?: string;
  readonly user?: string;
  readonly url?: string;
  readonly dataDir?: string;
}

/** Longest message of a client, bytes: the service refuses one that is too long for it, and says so. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

async function mcp(options: McpOptions): Promise<void> {
  const { catalog, user } = options;
  if (user !== undefined && !/^[!-~]([ -~]{0,254}[!-~])?$/.test(user)) {
    throw new UserError('--user has 1 to 256 letters, digits and signs of ASCII, and no space at an end.');
  }
  const { settings } = settingsWith(options);
  const url = options.url ?? settings.url;
  if (url !== undefined && options.config !== undefined) {
    throw new UserError(
      '--config is for the service that this command starts itself: leave out --url (BANDOLIER_URL), or give the servers to that service with `bandolier sources`.',
    );
  }
  const service = url === undefined ? serviceOfFolder(options) : serviceAt(typedUrl(url));
  const client = new StdioServerTransport(process.stdin, process.stdout, {
    maxBufferSize: MAX_MESSAGE_BYTES,
  });
  const onError = ({ message }: Error): void => void process.stderr.write(`${message}\n`);
  const bridge = new StdioBridge({
    ...{ client, catalog, onError, sessionId: `mcp-${randomUUID()}` },
    ...(user !== undefined && { userId: user }),
    find: service.find,
  });
  try {
    void untilInterrupted().then(() => client.close());
    await bridge.run();
  } finally {
    await service.close();
  }
  process.exit(0);
}

interface FoundService {
  find(): Promise<ServiceAddress>;
  /** Stops what was started. */
  close(): Promise<void>;
}

function serviceAt(url: string): FoundService {
  const find = async (): Promise<ServiceAddress> => {
    if (!(await answers(url)))
      throw new UserError(`No service answers at ${url}. Start it with \`bandolier serve\`.`);
    return { url, key: keyFor(url) };
  };
  return { find, close: async () => {} };
}

/** How long another process that has the data folder may take until it answers, ms: one that starts may have much to read. */
const PATIENCE_MS = 30_000;
const LOOK_EVERY_MS = 50;

/** The service of a data folder: this process, unless another one has it. */
function serviceOfFolder(options: McpOptions): FoundService {
  const { settings: given, sources } = settingsWith(options);
  // A client starts it in some folder: what is learned belongs to the user.
  const isChosen = sources.dataDir !== 'default' || given.redisUrl !== undefined;
  const settings: Settings = isChosen ? given : { ...given, dataDir: join(homedir(), '.bandolier') };
  const config = options.config === undefined ? null : readConfig(options.config);
  const prepare = async (service: Service): Promise<void> => {
    if (config !== null) await putSources(service, options.catalog, config.servers);
  };
  const start = { anyPort: true, ...(config !== null && { configured: configuredServers(config) }) };
  let server: Server | null = null;
  const find = async (): Promise<ServiceAddress> => {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        server ??= await startServer(settings, prepare, start);
        return { url: reachable(server.listener.url), key: server.apiKey.key ?? undefined };
      } catch (error) {
        if (!(error instanceof DataFolderLockedError) || performance.now() > deadline) throw error;
      }
      const running = await readServiceUrl(settings.dataDir);
      if (running !== null && (await answers(running.url))) {
        const { url } = running;
        if (config !== null && running.config?.digest !== config.digest) sayUnserved(config, running.config);
        return { url, key: keyFor(url, settings) };
      }
      await wait(LOOK_EVERY_MS);
    }
  };
  return { find, close: async () => server?.stop() };
}

/** What a client asks for is another thing than what it gets. */
function sayUnserved({ file }: ServedConfig, served: ServedConfig | null): void {
  const by =
    served === null
      ? 'without --config'
      : `with ${served.file}${served.file === file ? ' as it was then' : ''}`;
  process.stderr.write(
    `The servers of ${file} are not served: the process that has the data folder was started ${by}, and its servers are served; close the programs that use it and start again, or give this one a --data-dir of its own.\n`,
  );
}

const ANSWER_MS = 2_000;

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/livez`, { signal: AbortSignal.timeout(ANSWER_MS) })).ok;
  } catch {
    return false;
  }
}

interface Config extends ServedConfig {
  readonly servers: readonly ConfiguredServer[];
}

/** @throws UserError, McpConfigError */
function readConfig(path: string): Config {
  const file = resolve(path);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new UserError(`--config: ${file} cannot be read: ${(error as Error).message}.`);
  }
  const { servers, notes } = readMcpConfig(text, file);
  for (const note of notes) process.stderr.write(`${note}\n`);
  // Who starts us with the file of the client itself would have us start ourselves.
  const others = servers.filter(({ address }) => !isThisProgram(address));
  for (const server of servers) {
    if (!others.includes(server))
      process.stderr.write(`${file}: server "${server.name}" is this program itself, and is left out.\n`);
  }
  const digest = createHash('sha256').update(JSON.stringify(others)).digest('hex');
  return { file, digest, servers: others };
}

function isThisProgram(address: McpAddress): boolean {
  if ('url' in address) return false;
  const words = [address.command, ...(address.args ?? [])].map((word) =>
    basename(word).replace(/(\.js|@.*)$/, ''),
  );
  return words.includes('bandolier') && words.includes('mcp');
}

function configuredServers({ file, digest, servers }: Config): ConfiguredServers & { config: ServedConfig } {
  const byName = new Map(servers.map((server) => [server.name, server]));
  const said = new Map<string, string>();
  return {
    config: { file, digest },
    get: (name) => {
      const server = byName.get(name);
      if (server === undefined) return undefined;
      const address = (secrets: Secrets): McpAddress => {
        const variables = { variable: secrets.read, home: homedir(), file };
        const address = expandAddress(server.address, name, variables);
        const texts = ('url' in address ? address.headers : address.env) ?? {};
        for (const [of, value] of Object.entries(texts)) if (SECRET_NAME.test(of)) secrets.keep(of, value);
        // Who wrote the file may have us start any program, so its addresses need no leave.
        return { ...address, isTrusted: true };
      };
      const onUnreadable = (why: string): void => {
        // It is tried again and again, and people know it by then.
        if (said.get(name) !== why)
          process.stderr.write(`The tools of server "${name}" could not be read: ${why}\n`);
        said.set(name, why);
      };
      return { address, isEager: server.eager, onUnreadable };
    },
  };
}

/** A server's tools may be others after an update of it, s. */
const REFRESH_SECONDS = 24 * 60 * 60;
const CONFIGURED: SourceDefinition = {
  ...{ kind: 'mcp', configured: true, onChange: 'serve', refreshSeconds: REFRESH_SECONDS },
};

/** Makes the servers of a configuration sources of a catalog. Those that are known are not read again, so no server is started. */
async function putSources(
  { sources, catalogs }: Service,
  catalog: string,
  servers: readonly ConfiguredServer[],
): Promise<void> {
  if (catalog !== 'default') await catalogs.configure(catalog, {});
  const known = new Map(sources.list(catalog).map((source) => [source.name, source]));
  for (const { name } of servers) {
    const source = known.get(name);
    if (isConfigured(source?.definition) && source?.status === 'ok') continue;
    await sources.put(catalog, name, CONFIGURED, { trusted: true });
  }
  const named = new Set(servers.map(({ name }) => name));
  for (const [name, { definition }] of known) {
    // What was learned about its tools comes back with them.
    if (isConfigured(definition) && !named.has(name)) await sources.remove(catalog, name, false);
  }
}

function isConfigured(definition: SourceDefinition | undefined): boolean {
  return definition?.kind === 'mcp' && 'configured' in definition;
}
