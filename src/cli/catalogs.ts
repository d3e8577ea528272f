import { Command } from 'commander';
import type { CatalogList, CatalogView } from '../catalog/catalog-administration.ts';
import type { VersionView } from '../experiments/policy-versions.ts';
import { ApiClient, catalogPath as pathOf } from './api-client.ts';
import { type AskOptions, asking, serviceUrl, wholeNumber } from './options.ts';
import { print, printJson, table, UserError } from './terminal.ts';

type CatalogsOptions = Omit<AskOptions, 'catalog'>;

export function catalogsCommand(): Command {
  const command = new Command('catalogs').description(
    'show catalogs, choose which models they use, and delete them',
  );
  const sub = (name: string, description: string): Command =>
    asking(command.command(name).description(description), { catalog: false });

  sub('list', 'all catalogs of a running service').action(list);
  sub('embedder', 'move a catalog to another embedding model: its tools are embedded again')
    .argument('<catalog>')
    .argument('<model>', 'as `bandolier models list` shows it')
    .addHelpText(
      'after',
      `
What was learned with the model before is kept as a version of the policy: moving the catalog back to that model, or
activating the version, brings it back.`,
    )
    .action(moveToEmbedder);
  sub('reranker', 'let a catalog have a closer look at the best tools')
    .argument('<catalog>')
    .argument('<model>', 'a cross-encoder that was pulled')
    .argument('<ms>', 'so many milliseconds per query, at most', wholeNumber(1, 10_000))
    .action(useReranker);
  sub('delete', 'delete a catalog with everything that was learned in it; default is emptied')
    .argument('<catalog>')
    .option('--yes', 'do it; without it, what would be lost is said')
    .action(remove);
  return command.addHelpText(
    'after',
    `
Examples:
  bandolier catalogs embedder support sentence-transformers/all-MiniLM-L6-v2
  bandolier catalogs reranker support cross-encoder/ms-marco-MiniLM-L6-v2 100`,
  );
}

async function list(options: CatalogsOptions): Promise<void> {
  const found = await api(options).get<CatalogList>('/v1/catalogs');
  const { catalogs, failed } = found;
  const rows = catalogs.map(({ name, tools, policy, settings }) => [
    name,
    String(tools),
    policy.version,
    settings.embedder,
  ]);
  const without = failed.map(({ name, reason }) => `${name} cannot be opened: ${reason}\n`).join('');
  print(options.json, found, table([['NAME', 'TOOLS', 'POLICY', 'EMBEDDER'], ...rows]) + without);
}

async function moveToEmbedder(catalog: string, model: string, options: CatalogsOptions): Promise<void> {
  const client = api(options);
  const before = await client.get<CatalogView>(pathOf(catalog));
  const moved = await client.put<CatalogView>(pathOf(catalog), { embedder: model });
  if (options.json) return printJson(moved);
  const { settings, policy } = moved;
  process.stdout.write(`Catalog ${catalog} uses ${settings.embedder}, with ${policy.version}.\n`);
  const { policies } = await client.get<{ policies: VersionView[] }>(`${pathOf(catalog)}/policies`);
  const kept = policies.find(({ version, waits }) => waits && version === before.policy.version);
  if (kept === undefined) return;
  process.stdout.write(
    `What it learned with ${kept.embedder} is kept as ${kept.version}: bandolier catalogs embedder ${catalog} ${kept.embedder}\n`,
  );
}

async function useReranker(
  catalog: string,
  model: string,
  budgetMs: number,
  options: CatalogsOptions,
): Promise<void> {
  const view = await api(options).put<CatalogView>(pathOf(catalog), { reranker: { model, budgetMs } });
  print(options.json, view, `Catalog ${catalog} uses ${model} as its reranker.\n`);
}

async function remove(catalog: string, options: CatalogsOptions & { readonly yes?: boolean }): Promise<void> {
  const client = api(options);
  if (options.yes !== true) {
    const { tools } = await client.get<CatalogView>(pathOf(catalog));
    throw new UserError(
      `This deletes ${tools} tools of ${catalog}, its decisions and all that it has learned. Take a copy with \`bandolier export\`, then add --yes.`,
    );
  }
  await client.delete(pathOf(catalog));
  print(options.json, { catalog, deleted: true }, `Catalog ${catalog} is deleted.\n`);
}

function api({ url }: CatalogsOptions): ApiClient {
  return new ApiClient(serviceUrl(url));
}
