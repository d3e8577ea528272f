import { statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { Command, Option } from 'commander';
import type { Settings } from '../../config/settings.ts';
import { toolsThatGiveOrders, toolsThatShadow } from '../catalog/suspicious-tools.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { descriptionQuality } from '../merging/description-quality.ts';
import { modelFolder, openEmbedder } from '../models/open-embedder.ts';
import { RedisConnections } from '../redis/redis-connection.ts';
import { atOnce } from '../scheduling/slices.ts';
import { readServiceUrl } from '../service/service-url.ts';
import { DataFolderLockedError, lockDataFolder } from '../storage/data-folder.ts';
import { loadKernels } from '../stores/load-kernels.ts';
import { openStores } from '../stores/open-stores.ts';
import type { Stores } from '../stores/stores.ts';
import { ApiClient, catalogPath } from './api-client.ts';
import {
  dataDirOption,
  hostOption,
  portOption,
  type SettingFlags,
  settingsWith,
  typedUrl,
  urlOf,
} from './options.ts';
import { readStoredCatalog, type StoredCatalog } from './stored-catalog.ts';
import { counted } from './terminal.ts';

/** What a check found. `mend` says what to do; null where there is nothing to mend. */
interface Finding {
  readonly detail: string;
  readonly mend: string | null;
}

const fine = (detail: string): Finding => ({ detail, mend: null });

export function doctorCommand(): Command {
  return new Command('doctor')
    .description('check that everything the service needs is there, and say what to do where it is not')
    .addOption(hostOption)
    .addOption(portOption)
    .addOption(dataDirOption)
    .addOption(
      new Option('--url <url>', 'check the service there, and not this machine (BANDOLIER_URL)').conflicts([
        ...['host', 'port', 'dataDir'],
      ]),
    )
    .action(examine);
}

async function examine({ url, ...flags }: SettingFlags & { readonly url?: string }): Promise<void> {
  const { settings } = settingsWith(flags);
  // Who names a folder or a port means this machine.
  const elsewhere = url ?? (Object.keys(flags).length === 0 ? settings.url : undefined);
  let faults = 0;
  const all = elsewhere === undefined ? findings(settings) : findingsAt(typedUrl(elsewhere));
  for await (const [name, { detail, mend }] of all) {
    process.stdout.write(`${mend === null ? 'ok  ' : 'BAD '}  ${name}: ${detail}\n`);
    if (mend === null) continue;
    faults++;
    if (mend !== '') process.stdout.write(`      ${mend}\n`);
  }
  process.stdout.write(faults === 0 ? '\nEverything is as it should be.\n' : `\n${faults} to mend.\n`);
  if (faults > 0) process.exitCode = 1;
}

/** One fault is one finding: what depends on a thing that is not there is not looked at. */
async function* findings(settings: Settings): AsyncGenerator<[name: string, Finding]> {
  const { folder, running } = await checkDataFolder(settings);
  yield ['Node', checkNode()];
  yield ['data folder', folder];
  yield ['disk space', await attempted(checkDiskSpace(settings))];
  const redis = await attempted(checkRedis(settings));
  yield ['Redis', redis];
  if (redis.mend !== NOTHING_KNOWN) yield* checkStores(settings, running);
  yield ['embedding model', await attempted(checkModel(settings))];
  yield ['fast kernels', await attempted(checkKernels())];
  yield running === null ? ['port', await checkPort(settings)] : ['service', checkService(running)];
}

/** What can be seen of a service from elsewhere. */
async function* findingsAt(url: string): AsyncGenerator<[name: string, Finding]> {
  yield ['Node', checkNode()];
  const running = await askService(url);
  if (running !== null) {
    yield* asTheServiceSays(running);
    yield ['service', checkService(running)];
    return;
  }
  const mend =
    'Start it there, or name another one with --url or BANDOLIER_URL. Without them this machine is checked.';
  yield ['service', { detail: `none answers at ${url}`, mend }];
}

/** The message of what was thrown says what to do. */
const NOTHING_KNOWN = '';

const unknown = ({ message }: Error): Finding => ({ detail: message, mend: NOTHING_KNOWN });
const attempted = (look: Promise<Finding>): Promise<Finding> => look.catch(unknown);

/** A service that answers. */
interface RunningService {
  readonly url: string;
  readonly checks: Readonly<Record<string, { readonly ok: boolean; readonly detail: string }>>;
}

const TIMEOUT_MS = 5_000;

/** Null when no service answers there: the port may be free, or something else may listen. */
async function askService(url: string): Promise<RunningService | null> {
  const giveUp = new AbortController();
  // It keeps the process alive: a `fetch` whose connection is cut at once may never end, and keeps nothing alive.
  const timer = setTimeout(() => giveUp.abort(), TIMEOUT_MS);
  try {
    const answer = await fetch(`${url}/readyz`, { signal: giveUp.signal });
    const { checks } = (await answer.json()) as Partial<RunningService>;
    return checks?.clock === undefined ? null : { url, checks };
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
  }
}

function checkService({ url, checks }: RunningService): Finding {
  const faults = Object.entries(checks).filter(([, { ok }]) => !ok);
  if (faults.length === 0) return fine(`answers at ${url}, and is ready`);
  const mend = faults.map(([name, { detail }]) => `${name}: ${detail}`).join('\n      ');
  return { detail: `answers at ${url}, and is not ready`, mend };
}

function checkNode(): Finding {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const enough = major > 20 || (major === 20 && minor >= 19);
  return { detail: process.version, mend: enough ? null : 'Install Node 20.19 or newer.' };
}

/** Taking its lock creates the folder, writes to it, and finds out who else uses it; that one says in it where it answers. */
async function checkDataFolder({
  dataDir,
  redisUrl,
  host,
  port,
}: Settings): Promise<{ readonly folder: Finding; readonly running: RunningService | null }> {
  // What is in Redis belongs to all services that have it; else what answers at the address may have another folder.
  const sharing = () => (redisUrl === undefined ? null : askService(urlOf(host, port)));
  try {
    const lock = await lockDataFolder(dataDir);
    await lock.release();
    const folder = fine(`${dataDir} can be written, and no other process uses it`);
    return { folder, running: await sharing() };
  } catch (error) {
    if (!(error instanceof DataFolderLockedError)) return { folder: unknown(error as Error), running: null };
    const kept = await readServiceUrl(dataDir);
    const running = kept === null ? await sharing() : await askService(kept.url);
    if (running !== null) {
      return { folder: fine(`${dataDir} is in use, and a service answers at ${running.url}`), running };
    }
    const mend =
      redisUrl === undefined
        ? 'No service answers for it: that process may be starting, or be another command such as `bandolier repair`.'
        : 'If that is a service on another port, name it: bandolier doctor --port <its port>.';
    return { folder: { detail: error.message, mend }, running };
  }
}

const ENOUGH_GB = 1;

async function checkDiskSpace({ dataDir }: Settings): Promise<Finding> {
  const { bavail, bsize } = await statfs(dataDir);
  const free = (bavail * bsize) / 1e9;
  const mend =
    free >= ENOUGH_GB ? null : `Free at least ${ENOUGH_GB} GB, or set BANDOLIER_DATA_DIR to another disk.`;
  return { detail: `${free.toFixed(1)} GB free`, mend };
}

async function checkRedis({ redisUrl }: Settings): Promise<Finding> {
  if (redisUrl === undefined) return fine('not set: everything is in the data folder');
  const connections = await RedisConnections.open(redisUrl);
  const advice = await connections.advice();
  connections.close();
  const detail = connections.isCluster ? 'a cluster that answers' : 'it answers';
  return { detail, mend: advice.length === 0 ? null : advice.join(' ') };
}

async function checkModel({ model }: Settings): Promise<Finding> {
  const embedder = await openEmbedder(model);
  if (embedder === null) return fine('none: retrieval by words alone, as the setting `model` says');
  await embedder.close();
  return fine(`${modelFolder(model)}, ${embedder.dimensions} dimensions`);
}

async function checkKernels(): Promise<Finding> {
  await loadKernels();
  return fine('WebAssembly with SIMD');
}

async function* checkStores(
  settings: Settings,
  running: RunningService | null,
): AsyncGenerator<[name: string, Finding]> {
  const errors: string[] = [];
  let stores: Stores | null = null;
  try {
    stores = await openStores(settings, { onError: (message) => void errors.push(message) });
    yield ['clock', await checkClock(stores)];
    const catalogs = await storedCatalogs(stores, errors);
    yield ['learners', checkLearners(catalogs, errors)];
    yield ['tools', await checkTools(catalogs)];
    yield ['sources', checkSources(catalogs)];
  } catch (error) {
    // The process that has the folder is named above, and is asked for the rest.
    if (!(error instanceof DataFolderLockedError)) yield ['stored data', unknown(error as Error)];
    else if (running !== null) yield* asTheServiceSays(running);
  } finally {
    await stores?.close();
  }
}

async function* asTheServiceSays(running: RunningService): AsyncGenerator<[name: string, Finding]> {
  const { url, checks } = running;
  const { detail } = checks.clock;
  yield ['clock', detail === 'right' ? fine(detail) : { detail: 'wrong', mend: detail }];
  yield ['learners', fine(`their size is bandolier_learner_bytes in ${url}/metrics`)];
  const served = servedCatalogs(running);
  yield ['tools', await attempted(served.then(checkTools))];
  yield ['sources', await attempted(served.then(checkSources))];
}

/** This machine's clock, that of Redis, and what is stored already. */
async function checkClock({ clock, ledgers, decisionLogs }: Stores): Promise<Finding> {
  for (const name of await ledgers.list()) {
    const ledger = await ledgers.open(name);
    const [newest] = await ledger.read(Math.max(0, (await ledger.head()) - 1), 1);
    if (newest !== undefined) clock.notice(newest.entry.at);
    await ledger.close();
    await decisionLogs.open(name);
  }
  const skews = clock.skews();
  if (skews.length === 0) return fine('right, as far as can be told');
  return { detail: 'wrong', mend: skews.join('\n      ') };
}

async function storedCatalogs(stores: Stores, errors: string[]): Promise<Map<string, StoredCatalog>> {
  const kernels = await loadKernels();
  const onError = (message: string): void => void errors.push(message);
  const catalogs = new Map<string, StoredCatalog>();
  for (const name of await stores.ledgers.list()) {
    catalogs.set(name, await readStoredCatalog(name, stores, kernels, onError));
  }
  return catalogs;
}

/** How much memory a service with this data takes for what it learned. */
function checkLearners(catalogs: ReadonlyMap<string, StoredCatalog>, errors: readonly string[]): Finding {
  if (catalogs.size === 0) return fine('nothing was learned yet');
  const lines = [...catalogs.values()].flatMap(({ learners }) => learners);
  const mend = errors.length === 0 ? null : errors.join('\n      ');
  const ofAll = lines.length === catalogs.size ? 'one a catalog' : `${lines.length} in all`;
  return { detail: [ofAll, ...lines].join('\n      '), mend };
}

type Tools = Pick<StoredCatalog, 'tools' | 'sources'>;

/** The tools and sources of a running service. */
async function servedCatalogs({ url }: RunningService): Promise<Map<string, Tools>> {
  const client = new ApiClient(url);
  const { catalogs } = await client.get<{ catalogs: { name: string }[] }>('/v1/catalogs');
  const served = new Map<string, Tools>();
  for (const { name } of catalogs) {
    const tools: { tool: ToolDefinition }[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: { tools: ToolDefinition[]; nextCursor: string | null } = await client.get(
        `${catalogPath(name)}/tools?limit=1000${cursor === '' ? '' : `&cursor=${cursor}`}`,
      );
      tools.push(...page.tools.map((tool) => ({ tool })));
      cursor = page.nextCursor;
    }
    const { sources } = await client.get<Pick<Tools, 'sources'>>(`${catalogPath(name)}/sources`);
    served.set(name, { tools, sources });
  }
  return served;
}

/** Names for people. */
const NAMED = 20;

/** They are for people to judge, and so they are no fault. */
async function checkTools(catalogs: ReadonlyMap<string, Tools>): Promise<Finding> {
  const lines: string[] = [];
  let count = 0;
  for (const [catalog, { tools }] of catalogs) {
    count += tools.length;
    for (const { name, why } of atOnce(toolsThatGiveOrders(tools.map(({ tool }) => tool)))) {
      lines.push(`${catalog}: "${name}" ${why}: read its description`);
    }
    for (const names of toolsThatShadow(tools)) {
      const quoted = names.slice(0, NAMED).map((name) => `"${name}"`);
      lines.push(`${catalog}: a model may take these for each other: ${quoted.join(', ')}`);
    }
    const poor = tools.filter(({ tool }) => tool.kind !== 'skill' && descriptionQuality(tool).score === 1);
    if (poor.length > 0) {
      const [{ tool }] = poor;
      lines.push(
        `${catalog}: ${counted(poor.length, 'tool')} with descriptions that say next to nothing, such as "${tool.name}": ${descriptionQuality(tool).reasons.join(' ')}`,
      );
    }
  }
  const more = lines.length > NAMED ? [`and ${lines.length - NAMED} more`] : [];
  const all = `${counted(count, 'tool')}${lines.length === 0 ? ', of which none looks suspicious' : '; look at these:'}`;
  return fine([all, ...lines.slice(0, NAMED), ...more].join('\n      '));
}

function checkSources(catalogs: ReadonlyMap<string, Tools>): Finding {
  const all = [...catalogs].flatMap(([catalog, { sources }]) =>
    sources.map(({ name, error }) => (error ? `${catalog}: "${name}" could not be read: ${error}` : null)),
  );
  const failed = all.filter((line) => line !== null);
  if (failed.length === 0) return fine(`${all.length}${all.length === 0 ? '' : ', and none that failed'}`);
  return { detail: `${failed.length} of ${all.length} could not be read`, mend: failed.join('\n      ') };
}

function checkPort({ host, port }: Settings): Promise<Finding> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', async (error) => {
      const mend = 'Stop what listens there, or name another port with --port or BANDOLIER_PORT.';
      const other = await askService(urlOf(host, port));
      const [why, look] =
        other === null
          ? [error.message, '']
          : [
              'a service with another data folder answers there',
              `\`bandolier doctor --url ${other.url}\` checks that one (\`bandolier mcp\` keeps its data in ~/.bandolier). `,
            ];
      resolve({ detail: `${host}:${port} cannot be used: ${why}`, mend: look + mend });
    });
    server.listen(port, host, () => server.close(() => resolve(fine(`${host}:${port} is free`))));
  });
}
