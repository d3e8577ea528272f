import { readdir } from 'node:fs/promises';
import { Command } from 'commander';
import type { Settings } from '../../config/settings.ts';
import { type Copied, copyStores } from '../stores/copy-stores.ts';
import { openEmbeddedStores } from '../stores/embedded-stores.ts';
import { openStores } from '../stores/open-stores.ts';
import { openRedisStores } from '../stores/redis-stores.ts';
import type { Stores } from '../stores/stores.ts';
import { dataDirOption, refuseNoDataFolder, type SettingFlags, settingsWith } from './options.ts';
import { UserError } from './terminal.ts';

const listeners = {
  onError: (message: string): void => void process.stderr.write(`bandolier: ${message}\n`),
};

export function backupCommand(): Command {
  return new Command('backup')
    .description('copy everything that is kept into an empty folder')
    .argument('<folder>', 'where to; it is made if it does not exist')
    .addOption(dataDirOption)
    .addHelpText(
      'after',
      `
With REDIS_URL the service may go on meanwhile. Without, it has to be stopped: its data folder belongs to it.
The folder is a data folder like any other: \`bandolier serve --data-dir <folder>\` runs on it.
What users have (\`bandolier context\`) is left out, so that no backup brings back a user who was erased.

Example:
  REDIS_URL=redis://127.0.0.1:6379 bandolier backup backups/monday`,
    )
    .action(async (folder: string, options: SettingFlags) => {
      const { settings } = settingsWith(options);
      await refuseContent(folder);
      await copy(
        () => openStores(settings, listeners),
        () => inFolder(folder, settings),
      );
    });
}

export function restoreCommand(): Command {
  return new Command('restore')
    .description('bring a backup into an empty data folder, or into an empty Redis')
    .argument('<folder>', 'what `bandolier backup` has made')
    .addOption(dataDirOption)
    .addHelpText(
      'after',
      `
Goes to REDIS_URL if that is set, else to the data folder. Nothing is merged: neither may hold these catalogs.

Example:
  bandolier restore backups/monday --data-dir staging`,
    )
    .action(async (folder: string, options: SettingFlags) => {
      const { settings } = settingsWith(options);
      await refuseNoDataFolder(folder);
      await copy(
        () => inFolder(folder, settings),
        () => openStores(settings, listeners),
      );
    });
}

export function migrateCommand(): Command {
  return new Command('migrate')
    .description('move from the data folder to Redis, or back')
    .requiredOption('--to <redis|embedded>', 'where to')
    .addOption(dataDirOption)
    .addHelpText(
      'after',
      `
Stop the service first. Needs REDIS_URL and the data folder; what is moved stays where it was as well, until you
delete it. What users have moves with its keys: if there is any, set BANDOLIER_TOKEN_KEY as for the service.

Example:
  REDIS_URL=redis://127.0.0.1:6379 bandolier migrate --to redis --data-dir .bandolier`,
    )
    .action(async ({ to, ...options }: SettingFlags & { readonly to: string }) => {
      const { settings } = settingsWith(options);
      const { redisUrl, dataDir } = settings;
      if (redisUrl === undefined) throw new UserError('Set REDIS_URL to the Redis to move to, or from.');
      const context = { secret: settings.tokenKey };
      const folder = (): Promise<Stores> => inFolder(dataDir, settings);
      const redis = (): Promise<Stores> => openRedisStores(redisUrl, settings, listeners);
      if (to === 'redis') {
        await refuseNoDataFolder(dataDir);
        await copy(folder, redis, context);
      } else if (to === 'embedded') await copy(redis, folder, context);
      else throw new UserError(`--to is "${to}". It has to be redis or embedded.`);
    });
}

function inFolder(dataDir: string, settings: Settings): Promise<Stores> {
  return openEmbeddedStores({ ...settings, dataDir }, listeners);
}

async function copy(
  openSource: () => Promise<Stores>,
  openTarget: () => Promise<Stores>,
  context?: { readonly secret: string | undefined },
): Promise<void> {
  const source = await openSource();
  try {
    const target = await openTarget();
    try {
      process.stdout.write(summary(await copyStores(source, target, context)));
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

function summary({ catalogs, entries, snapshots, decisions, jobs, users }: Copied): string {
  const context = users === 0 ? '' : `, what ${users} ${users === 1 ? 'user has' : 'users have'}`;
  return `Copied ${catalogs} catalogs: ${snapshots} snapshots, ${entries} entries, ${decisions} decisions, ${jobs} jobs${context}.\n`;
}

async function refuseContent(folder: string): Promise<void> {
  const content = await readdir(folder).catch(() => []);
  if (content.length > 0) throw new UserError(`${folder} is not empty. A backup needs a folder of its own.`);
}
