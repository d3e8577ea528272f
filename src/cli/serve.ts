import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { pino } from 'pino';
import { packageRoot } from '../../config/package-root.ts';
import type { Settings } from '../../config/settings.ts';
import { Admission } from '../http/admission.ts';
import { createApp } from '../http/app.ts';
import { ListenError, type Listener, listen } from '../http/listen.ts';
import { RequestGuard } from '../http/request-guard.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { type ApiKey, apiKeyOf, keepApiKey } from '../service/api-key.ts';
import { type Service, startService } from '../service/service.ts';
import { keepServiceUrl, type ServedConfig } from '../service/service-url.ts';
import type { ConfiguredServers } from '../service/tool-servers.ts';
import { keepHeapRoom } from './heap-room.ts';
import {
  catalogsOption,
  dataDirOption,
  hostOption,
  portOption,
  type SettingFlags,
  settingsWith,
} from './options.ts';
import { lastWords, untilInterrupted } from './terminal.ts';

export function serveCommand(): Command {
  return new Command('serve')
    .description('run the service')
    .option('--sample', 'put the sample catalog of 150 tools into `default` if that is empty')
    .addOption(hostOption)
    .addOption(portOption)
    .addOption(dataDirOption)
    .addOption(catalogsOption)
    .action(serve);
}

async function serve(options: SettingFlags & { readonly sample?: boolean }): Promise<void> {
  const { settings } = settingsWith(options);
  const prepare = options.sample ? loadSampleIfEmpty : undefined;
  const { service, listener, apiKey, taken, stop } = await startServer(settings, prepare);
  const interrupted = untilInterrupted();
  process.stdout.write(await welcome(settings, service, listener, apiKey));
  await Promise.race([interrupted, untilAborted(taken)]);
  if (taken.aborted) {
    // Requests in progress are told that nothing was accepted; there is nothing else to finish or to write.
    await listener.close(LAST_ANSWERS_MS);
    process.stderr.write(`${lastWords(taken.reason)}\n`);
    process.exit(1);
  }
  process.stdout.write('\nFinishing what is in progress. Ctrl-C again stops at once.\n');
  await stop();
  // While Redis is away BullMQ cannot close its workers, and their timers would go on for ever.
  process.exit(0);
}

const LAST_ANSWERS_MS = 1_000;

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });
}

export interface Server {
  readonly service: Service;
  readonly listener: Listener;
  readonly apiKey: ApiKey;
  /** Aborted, with the reason, when the process must end at once. */
  readonly taken: AbortSignal;
  /** Stops taking requests, finishes those in progress, then closes everything that is open. */
  stop(): Promise<void>;
}

/**
 * The whole service with its HTTP front. In the data folder it says where it answers.
 * @param prepare what to do before the first request is let in.
 * @param options.anyPort take a free port if that of the settings is taken
 * @param options.configured servers of the operator's own configuration, and which one that is
 */
export async function startServer(
  settings: Settings,
  prepare: (service: Service) => Promise<void> = async () => {},
  {
    anyPort = false,
    configured,
  }: { anyPort?: boolean; configured?: ConfiguredServers & { readonly config: ServedConfig } } = {},
): Promise<Server> {
  const log = pino({ level: settings.logLevel }, pino.destination({ fd: 2, sync: true }));
  const heapRoom = keepHeapRoom();
  const service = await startService(settings, log, configured);
  try {
    await prepare(service);
    const admission = new Admission({ maxWaitMs: settings.maxWaitMs });
    const app = createApp(service, admission, log);
    const apiKey = await apiKeyOf(settings);
    const guard = new RequestGuard(settings.allowedHosts, apiKey.key);
    const { host, port } = settings;
    const listener = await listen(app, { admission, guard, host, port }).catch((error: unknown) => {
      if (anyPort && error instanceof ListenError) return listen(app, { admission, guard, host, port: 0 });
      throw error;
    });
    const keepUrl = async () =>
      settings.redisUrl === undefined
        ? keepServiceUrl(settings.dataDir, { url: listener.url, config: configured?.config ?? null })
        : async () => {};
    const forgetUrl = await keepApiKey(apiKey)
      .then(keepUrl)
      .catch(async (error: unknown) => {
        await listener.close(0);
        throw error;
      });
    const stop = async () => {
      await forgetUrl();
      const closed = listener.close(settings.shutdownSeconds * 1000);
      service.mcp.endStreams();
      await closed;
      await service.close();
      heapRoom.close();
    };
    return { service, listener, apiKey, taken: service.taken, stop };
  } catch (error) {
    await service.close();
    throw error;
  }
}

/** The hand-written catalog that comes with the package. */
export async function sampleTools(): Promise<ToolDefinition[]> {
  const file = join(packageRoot(), 'examples', 'sample-catalog', 'tools.json');
  return (JSON.parse(await readFile(file, 'utf8')) as { tools: ToolDefinition[] }).tools;
}

async function loadSampleIfEmpty({ catalogs, tools }: Service): Promise<void> {
  if (catalogs.view('default').tools === 0) await tools.sync('default', await sampleTools());
}

async function welcome(
  settings: Settings,
  { catalogs }: Service,
  { url: listensOn }: Listener,
  apiKey: ApiKey,
): Promise<string> {
  const url = reachable(listensOn);
  const keyHeader = apiKey.key === null ? '' : ` -H "Authorization: Bearer $BANDOLIER_API_KEY"`;
  const { catalogs: list } = catalogs.list();
  const first = list.find(({ name }) => name === 'default') ?? list[0];
  const count = first?.tools ?? 0;
  const others = list.length > 1 ? ` (and ${list.length - 1} more)` : '';
  const next =
    count === 0
      ? `  npx bandolier import my-tools.json${settings.port === 8787 ? '' : ` --url ${url}`}`
      : `  curl -s ${url}/v1/route -H 'content-type: application/json'${keyHeader} \\
    -d '{"query": "the customer wants their money back", "k": 3, "format": "names"}'`;
  return `Bandolier listens on ${listensOn}

  catalog       ${first?.name ?? settings.catalogs}, ${count} tool${count === 1 ? '' : 's'}${others}
  ${kept(settings)}
  API           ${url}/docs
${keyLines(apiKey)}
${count === 0 ? 'Next, give it tools:' : 'Next, ask it for tools:'}
${useKey(apiKey)}${next}

Ctrl-C stops it. Everything it knows is kept.
`;
}

/** A service that listens on all addresses answers on this machine's own. */
export function reachable(url: string): string {
  return url.replace(/\/\/(0\.0\.0\.0|\[::\])/, '//localhost');
}

/** Commands and curl find the key in the environment. */
function useKey({ file }: ApiKey): string {
  return file === null ? '' : `  export BANDOLIER_API_KEY="$(cat '${file.replaceAll("'", `'\\''`)}')"\n`;
}

/** A new key is shown once; where it is kept is said at every start. */
function keyLines({ key, file, isNew }: ApiKey): string {
  if (file === null) return '';
  const shown = isNew ? `${key}\n                this is the only time that it is shown; it is kept` : 'kept';
  return `  key           ${shown} in ${file}; requests need it (Authorization: Bearer …)\n`;
}

/** Where, for people. */
function kept({ redisUrl, dataDir }: Settings): string {
  if (redisUrl === undefined) return `data folder   ${dataDir}`;
  return `Redis         ${new URL(redisUrl).host}; start \`bandolier work\` beside it, or nothing is learned`;
}
