import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import { loadKernels } from '../state/load-kernels.ts';
import { openStores } from '../stores/open-stores.ts';
import { exportCatalog } from './export-catalog.ts';
import { dataDirOption, type SettingFlags, settingsWith } from './setting-options.ts';
import { UserError } from './user-error.ts';

export function exportCommand(): Command {
  return new Command('export')
    .description('write everything that is kept as JSON lines: tools, decisions, rewards, policies')
    .option('--catalog <name>', 'only this catalog')
    .addOption(dataDirOption)
    .addHelpText(
      'after',
      `
Reads the data folder itself, so the service has to be stopped; with REDIS_URL set it reads Redis, and nothing has
to be stopped. Every line has a \`kind\` and its \`catalog\`:
policy (settings and version), experiment (with its report), tool (definition and statistics), decision, reward.

Examples:
  bandolier export > everything.jsonl
  bandolier export --catalog support | grep '"kind":"reward"' > rewards.jsonl`,
    )
    .action(exportEverything);
}

async function exportEverything(options: SettingFlags & { readonly catalog?: string }): Promise<void> {
  const { settings } = settingsWith(options);
  const onError = (message: string) => process.stderr.write(`bandolier: ${message}\n`);
  const stores = await openStores(settings, { onError });
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
