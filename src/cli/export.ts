import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { reportView } from '../experiments/experiment-report.ts';
import { viewOf } from '../experiments/experiment-view.ts';
import type { ObservationEntry } from '../ledger/entry.ts';
import { firstPosition } from '../ledger/find-position.ts';
import type { Ledger, PositionedEntry } from '../ledger/ledger.ts';
import { loadState } from '../snapshots/stored-state.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import { fold } from '../state/fold.ts';
import { loadKernels } from '../stores/load-kernels.ts';
import { openStores } from '../stores/open-stores.ts';
import type { Stores } from '../stores/stores.ts';
import { dataDirOption, refuseNoDataFolder, type SettingFlags, settingsWith } from './options.ts';
import { UserError } from './terminal.ts';

export function exportCommand(): Command {
  return new Command('export')
    .description(
      'write everything that is kept as JSON lines: tools, instructions, decisions, rewards, policies',
    )
    .option('--catalog <name>', 'only this catalog')
    .addOption(dataDirOption)
    .addHelpText(
      'after',
      `
Reads the data folder itself, so the service has to be stopped; with REDIS_URL set it reads Redis, and nothing has
to be stopped. Every line has a \`kind\` and its \`catalog\`:
policy (settings and version), experiment (with its report), instruction, tool (definition and statistics), decision,
reward.

Examples:
  bandolier export > everything.jsonl
  bandolier export --catalog support | grep '"kind":"reward"' > rewards.jsonl`,
    )
    .action(exportEverything);
}

async function exportEverything(options: SettingFlags & { readonly catalog?: string }): Promise<void> {
  const { settings } = settingsWith(options);
  // Opening would make it.
  if (settings.redisUrl === undefined) await refuseNoDataFolder(settings.dataDir);
  const onError = (message: string) => process.stderr.write(`bandolier: ${message}\n`);
  const stores = await openStores(settings, { onError }).catch((error: Error) => {
    if (error.name !== 'DataFolderLockedError') throw error;
    throw new UserError(
      `${error.message} Stop the service, export, and start it again; nothing is lost meanwhile but time. While it runs, ` +
        '`bandolier decisions --json` and `bandolier stats --json` ask it for a part.',
    );
  });
  try {
    const kernels = await loadKernels();
    const names = await stores.ledgers.list();
    if (options.catalog !== undefined && !names.includes(options.catalog)) {
      throw new UserError(
        `There is no catalog "${options.catalog}" ${settings.redisUrl === undefined ? `in ${settings.dataDir}` : 'in this Redis'}. There are: ${names.join(', ')}.`,
      );
    }
    for (const name of options.catalog === undefined ? names : [options.catalog]) {
      await pipeline(Readable.from(exportCatalog(name, stores, kernels, onError)), process.stdout, {
        end: false,
      });
    }
  } finally {
    await stores.close();
  }
}

const READ_BATCH = 512;

/**
 * Everything that is kept of one catalog, as JSON lines: rewards as long as their decisions. Older ones are in the
 * statistics of their tools and in what was learned, not line by line.
 */
export async function* exportCatalog(
  name: string,
  stores: Stores,
  kernels: Kernels,
  onError: (message: string) => void,
): AsyncGenerator<string> {
  const ledger = await stores.ledgers.open(name);
  const snapshots = await stores.snapshots.open(name);
  const state = await loadState(name, snapshots, { kernels, derived: false }, (position) =>
    onError(`snapshot ${position} of catalog "${name}" cannot be read; taking the one before`),
  );
  try {
    const rewards: string[] = [];
    for await (const positioned of entriesOf(ledger)) {
      if (positioned.position > state.position) fold(state, positioned);
      if (positioned.entry.kind === 'observation') rewards.push(...rewardLines(name, positioned.entry));
    }
    yield* stateLines(name, state);
    for await (const decision of (await stores.decisionLogs.find(name))?.read() ?? []) {
      yield line({ kind: 'decision', ...decision, catalog: name });
    }
    yield* rewards;
  } finally {
    state.free();
    await ledger.close();
  }
}

/** All entries that are still there: from the first, or from where the ledger was trimmed. */
async function* entriesOf(ledger: Ledger): AsyncGenerator<PositionedEntry> {
  for (let after = await firstPosition(ledger, await ledger.head()); ; ) {
    const entries = await ledger.read(after, READ_BATCH);
    const last = entries.at(-1);
    if (last === undefined) return;
    yield* entries;
    after = last.position;
  }
}

function* stateLines(catalog: string, state: CatalogState): Generator<string> {
  for (const { version, settings, embedder } of state.learners.all()) {
    const { model } = embedder;
    yield line({ kind: 'policy', catalog, version, embedder: model, ...settings, settings: state.settings });
  }
  for (const record of state.experiments.all()) {
    yield line({ kind: 'experiment', ...viewOf(record, catalog), report: reportView(record, catalog) });
  }
  for (const { slot: _, ...record } of state.instructions.records()) {
    yield line({ kind: 'instruction', catalog, ...record });
  }
  for (const record of state.merges.all()) yield line({ kind: 'merge', catalog, ...record });
  for (const { tool, hash, addedAt, removedAt, statistics } of state.tools.records()) {
    yield line({ kind: 'tool', catalog, tool, definitionHash: hash, addedAt, removedAt, statistics });
  }
}

function rewardLines(catalog: string, { decision, reports }: ObservationEntry): string[] {
  return reports.map((report) => line({ kind: 'reward', catalog, decisionId: decision.id, ...report }));
}

/** Typed arrays become plain ones. */
function line(value: object): string {
  const plain = (_: string, member: unknown) =>
    ArrayBuffer.isView(member) ? Array.from(member as unknown as ArrayLike<number>) : member;
  return `${JSON.stringify(value, plain)}\n`;
}
