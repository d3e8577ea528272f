import { statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { Command } from 'commander';
import type { Settings } from '../../config/settings.ts';
import { modelFolder, openEmbedder } from '../embedding-model.ts';
import { loadKernels } from '../load-kernels.ts';
import { openStores } from '../open-stores.ts';
import { RedisConnections } from '../redis/redis-connection.ts';
import { DataFolderLockedError, lockDataFolder } from '../storage/data-folder.ts';
import type { Stores } from '../stores.ts';
import { learnerSizes } from './learner-sizes.ts';
import { dataDirOption, hostOption, portOption, type SettingFlags, settingsWith } from './setting-options.ts';

/** What a check found. `mend` says what to do; null where there is nothing to mend. */
interface Finding {
  readonly detail: string;
  readonly mend: string | null;
}

interface Check {
  readonly name: string;
  readonly look: (settings: Settings) => Promise<Finding>;
}

const CHECKS: readonly Check[] = [
  { name: 'Node', look: checkNode },
  { name: 'data folder', look: checkDataFolder },
  { name: 'disk space', look: checkDiskSpace },
  { name: 'Redis', look: checkRedis },
  { name: 'clock', look: checkClock },
  { name: 'embedding model', look: checkModel },
  { name: 'fast kernels', look: checkKernels },
  { name: 'learners', look: checkLearners },
  { name: 'port', look: checkPort },
];

const fine = (detail: string): Finding => ({ detail, mend: null });

export function doctorCommand(): Command {
  return new Command('doctor')
    .description('check that everything the service needs is there, and say what to do where it is not')
    .addOption(hostOption)
    .addOption(portOption)
    .addOption(dataDirOption)
    .action(examine);
}

async function examine(options: SettingFlags): Promise<void> {
  const { settings } = settingsWith(options);
  let faults = 0;
  for (const { name, look } of CHECKS) {
    const { detail, mend } = await look(settings).catch((error: Error) => ({
      detail: error.message,
      mend: '',
    }));
    process.stdout.write(`${mend === null ? 'ok  ' : 'BAD '}  ${name}: ${detail}\n`);
    if (mend === null) continue;
    faults++;
    if (mend !== '') process.stdout.write(`      ${mend}\n`);
  }
  process.stdout.write(faults === 0 ? '\nEverything is as it should be.\n' : `\n${faults} to mend.\n`);
  if (faults > 0) process.exitCode = 1;
}

async function checkNode(): Promise<Finding> {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const enough = major > 20 || (major === 20 && minor >= 19);
  return { detail: process.version, mend: enough ? null : 'Install Node 20.19 or newer.' };
}

/** Taking its lock creates the folder, writes to it, and finds out who else uses it. */
async function checkDataFolder({ dataDir }: Settings): Promise<Finding> {
  const lock = await lockDataFolder(dataDir);
  await lock.release();
  return fine(`${dataDir} can be written and nobody else uses it`);
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
  let reason: string | null = null;
  await loadKernels((why) => {
    reason = why;
  });
  if (reason === null) return fine('WebAssembly with SIMD');
  return { detail: reason, mend: 'Run `npm run kernels`, or use a Node with WebAssembly SIMD.' };
}

/** This machine's clock, that of Redis, and what is stored already. */
async function checkClock(settings: Settings): Promise<Finding> {
  const stores = await openUnlessInUse(settings, () => {});
  if (stores === null) return fine('a running service knows: GET /readyz');
  const { clock, ledgers, decisionLogs } = stores;
  try {
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
  } finally {
    await stores.queue.close(0);
    await stores.close();
  }
}

/** Null when a service has the data folder. */
function openUnlessInUse(settings: Settings, trouble: (message: string) => void): Promise<Stores | null> {
  return openStores(settings, { trouble }).catch((error: unknown) => {
    if (error instanceof DataFolderLockedError) return null;
    throw error;
  });
}

/** How much memory a service with this data takes for what it learned. */
async function checkLearners(settings: Settings): Promise<Finding> {
  const troubles: string[] = [];
  const trouble = (message: string): void => void troubles.push(message);
  const stores = await openUnlessInUse(settings, trouble);
  if (stores === null) return fine('a running service knows: bandolier_learner_bytes in its /metrics');
  try {
    const names = await stores.ledgers.list();
    if (names.length === 0) return fine('nothing was learned yet');
    const kernels = await loadKernels(() => {});
    const lines: string[] = [];
    for (const name of names) lines.push(...(await learnerSizes(name, stores, kernels, trouble)));
    const mend = troubles.length === 0 ? null : troubles.join('\n      ');
    return { detail: [`${lines.length} in ${names.length} catalogs`, ...lines].join('\n      '), mend };
  } finally {
    await stores.queue.close(0);
    await stores.close();
  }
}

function checkPort({ host, port }: Settings): Promise<Finding> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => {
      const mend =
        'Stop what listens there (it may be this very service), or set BANDOLIER_PORT to another port.';
      resolve({ detail: `${host}:${port} cannot be used: ${error.message}`, mend });
    });
    server.listen(port, host, () => server.close(() => resolve(fine(`${host}:${port} is free`))));
  });
}
