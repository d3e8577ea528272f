import { SingleBar } from 'cli-progress';
import { Command } from 'commander';
import type { Settings } from '../../config/settings.ts';
import { OnnxReranker } from '../models/onnx/onnx-reranker.ts';
import { openModelFolder } from '../models/open-embedder.ts';
import { pulledModelFolder, pulledModels } from '../models/pull/model-store.ts';
import { pullModel } from '../models/pull/pull-model.ts';
import { resolveEmbedder } from '../service/models.ts';
import { dataDirOption, jsonOption, type SettingFlags, settingsWith } from './options.ts';
import { print, table } from './terminal.ts';

export function modelsCommand(): Command {
  return new Command('models')
    .description('fetch embedding models and rerankers')
    .addCommand(
      new Command('pull')
        .description('download a model from a Hugging Face hub; what broke off goes on where it stopped')
        .argument('<id>', 'owner and name, e.g. sentence-transformers/all-MiniLM-L6-v2')
        .option('--revision <name>', 'branch, tag or commit', 'main')
        .option('--file <path>', 'which of its ONNX files; default: onnx/model.onnx or model.onnx')
        .addOption(dataDirOption)
        .action(pull),
    )
    .addCommand(
      new Command('list')
        .description('show what embedders there are')
        .addOption(dataDirOption)
        .addOption(jsonOption)
        .action(list),
    )
    .addCommand(
      new Command('check')
        .description('load a model and say what it is')
        .argument('<name>', 'as `bandolier models list` shows it')
        .addOption(dataDirOption)
        .action(check),
    )
    .addHelpText(
      'after',
      `
Examples:
  bandolier models pull sentence-transformers/all-MiniLM-L6-v2
  bandolier models check sentence-transformers/all-MiniLM-L6-v2
  bandolier catalogs embedder support sentence-transformers/all-MiniLM-L6-v2`,
    );
}

interface PullFlags extends SettingFlags {
  readonly revision: string;
  readonly file?: string;
}

async function pull(id: string, { revision, file, ...flags }: PullFlags): Promise<void> {
  const { settings } = settingsWith(flags);
  const bar = new SingleBar({ format: '{bar} {percentage} % of {file}', clearOnComplete: true });
  let current = '';
  try {
    const folder = await pullModel({
      ...settings,
      id,
      revision,
      file,
      allowPrivate: settings.allowPrivateHosts,
      onProgress: (name, bytes, total) => {
        if (name !== current) bar.start(total, 0, { file: name });
        current = name;
        bar.update(bytes);
      },
    });
    bar.stop();
    process.stdout.write(`${id} is in ${folder}.\n`);
  } finally {
    bar.stop();
  }
  await check(id, flags);
}

async function list({ json, ...flags }: SettingFlags & { readonly json?: boolean }): Promise<void> {
  const { settings } = settingsWith(flags);
  const pulled = await pulledModels(settings.dataDir);
  const rows = [
    ['default', `what this machine is configured with: ${settings.model}`],
    ['bundled', 'the small static model that comes with bandolier'],
    ['none', 'no embeddings: retrieval by words alone'],
    ['endpoint', settings.embeddingsUrl ?? 'not configured (BANDOLIER_EMBEDDINGS_URL)'],
    ...pulled.map((name) => [name, pulledModelFolder(settings.dataDir, name) ?? '']),
  ];
  const models = rows.map(([name, what]) => ({ name, what }));
  print(json, { models }, table(rows));
}

async function check(name: string, flags: SettingFlags): Promise<void> {
  const { settings } = settingsWith(flags);
  process.stdout.write(`${await describe(settings, name)}\n`);
}

/** Tries it as an embedder and, if it is none, as a reranker. @throws UnusableModelError */
async function describe(settings: Settings, name: string): Promise<string> {
  const resolved = resolveEmbedder(settings, name);
  if (resolved === 'none' || resolved === 'endpoint') return `${name}: nothing to load.`;
  try {
    const embedder = await openModelFolder(resolved);
    const start = performance.now();
    await embedder.embedQueries(['Read the file and send it by mail.']);
    const ms = (performance.now() - start).toFixed(1);
    const { dimensions, fingerprint } = embedder;
    await embedder.close();
    return `${name}: an embedding model with ${dimensions} dimensions, ${ms} ms for a query, fingerprint ${fingerprint}.`;
  } catch (error) {
    const reranker = await OnnxReranker.open({ folder: resolved, now: () => Date.now() }).catch(() => null);
    if (reranker === null) throw error;
    await reranker.close();
    return `${name}: a reranker. Use it with \`bandolier catalogs reranker default ${name} 100\`.`;
  }
}
