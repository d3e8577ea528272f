import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { Command } from 'commander';
import type { Settings } from '../../config/settings.ts';
import { type ServiceAddress, StdioBridge } from '../mcp/stdio-bridge.ts';
import { readServiceUrl } from '../service/service-url.ts';
import { DataFolderLockedError } from '../storage/data-folder.ts';
import { keyFor } from './api-client.ts';
import { catalogOption, dataDirOption, settingsWith, typedUrl, urlOption } from './options.ts';
import { type Server, startServer } from './serve.ts';
import { UserError, untilInterrupted } from './terminal.ts';

export function mcpCommand(): Command {
  return new Command('mcp')
    .description('an MCP server over stdio: one for all your tools')
    .addOption(catalogOption())
    .addOption(urlOption)
    .addOption(dataDirOption)
    .addHelpText(
      'after',
      `
What an MCP client starts. With BANDOLIER_URL or --url it is a way to the service there; else it opens the data folder (~/.bandolier
if none is set), or joins the process that has it: a service, or the \`bandolier mcp\` of another client.

It speaks the protocol on standard output, and writes what it has to say to people on standard error.

Example, in a client's configuration:
  {"mcpServers": {"bandolier": {"command": "npx", "args": ["-y", "bandolier", "mcp"]}}}`,
    )
    .action(mcp);
}

interface McpOptions {
  readonly catalog: string;
  readonly url?: string;
  readonly dataDir?: string;
}

/** Longest message of a client, bytes: the service refuses one that is too long for it, and says so. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

async function mcp(options: McpOptions): Promise<void> {
  const { catalog } = options;
  const { settings } = settingsWith(options);
  const url = options.url ?? settings.url;
  const service = url === undefined ? serviceOfFolder(options) : serviceAt(typedUrl(url));
  const client = new StdioServerTransport(process.stdin, process.stdout, {
    maxBufferSize: MAX_MESSAGE_BYTES,
  });
  const onError = ({ message }: Error): void => void process.stderr.write(`${message}\n`);
  const bridge = new StdioBridge({
    ...{ client, catalog, onError, sessionId: `mcp-${randomUUID()}` },
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
  let server: Server | null = null;
  const find = async (): Promise<ServiceAddress> => {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        server ??= await startServer(settings, undefined, { anyPort: true });
        return { url: reachable(server.listener.url), key: server.apiKey.key ?? undefined };
      } catch (error) {
        if (!(error instanceof DataFolderLockedError) || performance.now() > deadline) throw error;
      }
      const url = await readServiceUrl(settings.dataDir);
      if (url !== null && (await answers(url))) return { url, key: keyFor(url, settings) };
      await wait(LOOK_EVERY_MS);
    }
  };
  return { find, close: async () => server?.stop() };
}

/** A service that listens on all addresses answers on this machine's own. */
function reachable(url: string): string {
  return url.replace(/\/\/(0\.0\.0\.0|\[::\])/, '//localhost');
}

const ANSWER_MS = 2_000;

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/livez`, { signal: AbortSignal.timeout(ANSWER_MS) })).ok;
  } catch {
    return false;
  }
}
