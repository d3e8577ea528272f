import { basename, dirname, resolve } from 'node:path';
import { Command, Option } from 'commander';
import type { Position } from '../ledger/entry.ts';
import { FileSnapshotStore } from '../snapshots/file-snapshot-store.ts';
import { decodeSnapshot } from '../state/snapshot-codec.ts';
import { foldersOf, lockDataFolder } from '../storage/data-folder.ts';
import { restartLog, truncateLog } from '../storage/log-repair.ts';
import { loadKernels } from '../stores/load-kernels.ts';
import { wholeNumber } from './options.ts';
import { UserError } from './terminal.ts';

interface RepairFlags {
  readonly truncateAt?: number;
  readonly fromSnapshot?: boolean;
}

export function repairCommand(): Command {
  return new Command('repair')
    .description('go on without the damaged part of a log, as the error message told you')
    .argument('<path>', 'the file or folder that the error named')
    .addOption(
      new Option('--truncate-at <offset>', 'keep the file up to this byte, and no later one').argParser(
        wholeNumber(0, Number.MAX_SAFE_INTEGER),
      ),
    )
    .option('--from-snapshot', 'give up a ledger for the newest intact snapshot that was made of it')
    .addHelpText(
      'after',
      `
Stop the service first. Restoring from a backup is better: what the error speaks of is lost otherwise. What is
given up is put aside, not deleted.

Examples:
  bandolier repair .bandolier/jobs/0000000000000001.log --truncate-at 81920
  bandolier repair .bandolier/catalogs/default/ledger --from-snapshot`,
    )
    .action(repair);
}

async function repair(path: string, { truncateAt, fromSnapshot = false }: RepairFlags): Promise<void> {
  if ((truncateAt === undefined) !== fromSnapshot) {
    throw new UserError('Say either --truncate-at <offset> or --from-snapshot, as the error message did.');
  }
  const { dataDir, catalog } = foldersOf(resolve(path));
  const lock = dataDir === null ? null : await lockDataFolder(dataDir);
  try {
    const snapshots = catalog === null ? null : snapshotsBeside(catalog);
    if (truncateAt === undefined) await goOnFromSnapshot(path, snapshots);
    else await truncate(path, truncateAt, snapshots);
  } finally {
    await lock?.release();
  }
}

async function truncate(file: string, offset: number, snapshots: FileSnapshotStore | null): Promise<void> {
  const { last, cutBytes, setAside } = await truncateLog(file, offset).catch((error: unknown) => {
    if (error instanceof RangeError) throw new UserError(error.message);
    throw error;
  });
  process.stdout.write(`Kept everything up to record ${last}; cut ${cutBytes} bytes.\n`);
  tellSetAside(setAside);
  if (basename(dirname(resolve(file))) === 'ledger') await discardSnapshots(snapshots, last);
}

async function goOnFromSnapshot(folder: string, snapshots: FileSnapshotStore | null): Promise<void> {
  if (snapshots === null || basename(resolve(folder)) !== 'ledger') {
    throw new UserError(`"${folder}" is no ledger: only ledgers have snapshots.`);
  }
  const newest = await newestIntact(snapshots, basename(dirname(resolve(folder))));
  if (newest === null) {
    throw new UserError(`No snapshot of "${folder}" is intact. Restore it from a backup.`);
  }
  await discardSnapshots(snapshots, newest);
  tellSetAside(await restartLog(folder, newest));
  process.stdout.write(`The ledger goes on after entry ${newest}, from the snapshot that knows it.\n`);
}

/** The newest that can be read as a start reads it. */
async function newestIntact(snapshots: FileSnapshotStore, catalog: string): Promise<Position | null> {
  const context = { kernels: await loadKernels(), derived: false };
  for (const position of await snapshots.list()) {
    const stored = await snapshots.get(position);
    try {
      if (stored === null) continue;
      decodeSnapshot(stored.bytes, catalog, context).free();
      return position;
    } catch (error) {
      process.stdout.write(`Snapshot ${position} cannot be read: ${(error as Error).message}\n`);
    }
  }
  return null;
}

/** Those that know more than the ledger: its next entries take the same positions again. */
async function discardSnapshots(snapshots: FileSnapshotStore | null, position: Position): Promise<void> {
  const discarded = (await snapshots?.discardAfter(position)) ?? 0;
  if (discarded > 0) process.stdout.write(`Put aside: ${discarded} snapshots that are later.\n`);
}

function tellSetAside(paths: readonly string[]): void {
  for (const path of paths) process.stdout.write(`Put aside: ${path}\n`);
}

function snapshotsBeside(catalog: string): FileSnapshotStore {
  return new FileSnapshotStore(`${catalog}/snapshots`, async () => 0);
}
