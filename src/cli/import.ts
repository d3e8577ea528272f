import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { SingleBar } from 'cli-progress';
import { Command } from 'commander';
import type { ToolChanges } from '../catalog/change-tools.ts';
import { definitionHash } from '../catalog/definition-hash.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { ApiClient, ApiProblem, catalogPath } from './api-client.ts';
import { catalogOption, jsonOption, serviceUrl, urlOption } from './config.ts';
import { type ReadTools, readToolsFile } from './read-tools-file.ts';
import { printJson, UserError } from './terminal.ts';
import { someOf } from './tool-fields.ts';

interface ImportOptions {
  readonly catalog: string;
  readonly replace?: boolean;
  readonly server?: string;
  readonly prefix?: string;
  readonly dryRun?: boolean;
  readonly url?: string;
  readonly json?: boolean;
}

type Changes = Omit<ToolChanges, 'revision'>;

/** Tools per request: small enough for a progress bar to move, large enough to cost little. */
const BATCH = 250;

export function importCommand(): Command {
  return new Command('import')
    .description('put the tools of a file into a catalog of a running service')
    .argument(
      '<file>',
      'MCP tools/list, OpenAI, Anthropic, OpenAPI 3 or our own shape, as JSON, JSON lines or YAML; - for standard input',
    )
    .addOption(catalogOption('created if there is none'))
    .option('--replace', 'remove the tools that are not in the file')
    .option('--server <name>', 'server to note for tools that name none')
    .option('--prefix <text>', 'text before every name, e.g. "github."')
    .option('--dry-run', 'say what would change, and change nothing')
    .addOption(urlOption)
    .addOption(jsonOption)
    .addHelpText(
      'after',
      `
Tools of several servers that have the same name get their server before it. A tool that cannot go in is named, and the
others go in; the exit code is 1 then.

Examples:
  bandolier import tools.json
  bandolier import openapi.yaml --catalog billing --dry-run
  bandolier import openai-functions.json --catalog support --replace
  npx some-mcp-client tools/list | bandolier import - --server github`,
    )
    .action(importTools);
}

async function importTools(file: string, options: ImportOptions): Promise<void> {
  const read = readToolsFile(await readInput(file), options);
  const { tools, refused } = read;
  if (tools.length === 0 || (options.replace && refused.length > 0)) {
    const why = tools.length === 0 ? 'No tool of this file can go in' : 'These tools cannot go in';
    throw new UserError(
      `${why}:\n${refusedText(read)}Nothing was changed. Mend them, or take them out of the file.`,
    );
  }
  const api = new ApiClient(serviceUrl(options.url));
  const { catalog, dryRun = false } = options;
  const changes = dryRun ? await compare(api, tools, options) : await put(api, tools, options);
  if (options.json) {
    const { providerTools, prefixed, ignored } = read;
    printJson({ catalog, dryRun, ...changes, refused, providerTools, prefixed, ignored });
  } else {
    const { added, changed, removed, unchanged } = changes;
    const would = dryRun ? ' (not done: this was a dry run)' : '';
    process.stdout.write(
      `Catalog ${catalog}: ${added} added, ${changed} changed, ${removed} removed, ${unchanged} unchanged${would}.\n${remarks(read)}`,
    );
  }
  if (refused.length === 0) return;
  process.stderr.write(`bandolier: ${refused.length} of the tools cannot go in:\n${refusedText(read)}`);
  process.exitCode = 1;
}

function remarks({ providerTools, prefixed, ignored }: ReadTools): string {
  const lines = [
    providerTools.length > 0 &&
      `Left out, because the provider defines them itself: ${someOf(providerTools)}.`,
    prefixed.length > 0 &&
      `${prefixed.length} tools have the name of a tool of another server, and got their server before it: ${someOf(prefixed, 3)}.`,
    ignored.length > 0 && `Fields that were not taken over: ${ignored.join(', ')}.`,
  ];
  return lines.map((line) => (line === false ? '' : `${line}\n`)).join('');
}

function refusedText({ refused }: ReadTools): string {
  return refused.map(({ name, why }) => `  ${name}: ${why}\n`).join('');
}

async function readInput(file: string): Promise<string> {
  try {
    return file === '-' ? await text(process.stdin) : await readFile(file, 'utf8');
  } catch (error) {
    throw new UserError(`${file} cannot be read: ${(error as Error).message}.`);
  }
}

/** What an import would change. */
async function compare(
  api: ApiClient,
  tools: readonly ToolDefinition[],
  { catalog, replace }: ImportOptions,
): Promise<Changes> {
  const stored = new Map<string, string>();
  const names = new Set(tools.map(({ name }) => name));
  let ignoreDates = false;
  if (await exists(api, catalog)) {
    const { settings } = await api.get<{ settings: { ignoreDates?: boolean } }>(catalogPath(catalog));
    ignoreDates = settings.ignoreDates ?? false;
    for await (const { name, definitionHash: hash } of storedTools(api, catalog)) stored.set(name, hash);
  }
  const added = tools.filter(({ name }) => !stored.has(name)).length;
  const unchanged = tools.filter((tool) => stored.get(tool.name) === definitionHash(tool, { ignoreDates }));
  const removed = replace ? [...stored.keys()].filter((name) => !names.has(name)).length : 0;
  return {
    added,
    changed: tools.length - added - unchanged.length,
    removed,
    unchanged: unchanged.length,
  };
}

interface StoredTool {
  readonly name: string;
  readonly definitionHash: string;
}

async function* storedTools(api: ApiClient, catalog: string): AsyncGenerator<StoredTool> {
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: { tools: StoredTool[]; nextCursor: string | null } = await api.get(
      `${catalogPath(catalog)}/tools?limit=1000${cursor === '' ? '' : `&cursor=${cursor}`}`,
    );
    yield* page.tools;
    cursor = page.nextCursor;
  }
}

async function exists(api: ApiClient, catalog: string): Promise<boolean> {
  try {
    await api.get(catalogPath(catalog));
    return true;
  } catch (error) {
    if (error instanceof ApiProblem && error.code === 'catalog-not-found') return false;
    throw error;
  }
}

async function put(
  api: ApiClient,
  tools: readonly ToolDefinition[],
  { catalog, replace }: ImportOptions,
): Promise<Changes> {
  if (!(await exists(api, catalog))) await api.put(catalogPath(catalog), {});
  const path = `${catalogPath(catalog)}/tools`;
  const total = { added: 0, changed: 0, removed: 0, unchanged: 0 };
  const add = (changes: Changes): void => {
    for (const key of Object.keys(total) as (keyof Changes)[]) total[key] += changes[key];
  };
  // A catalog is replaced in one step, or an agent would meet half of it.
  if (replace) {
    add(await api.put<Changes>(path, { tools }));
    return total;
  }
  const bar = new SingleBar({
    format: ' {bar} {value}/{total} tools, {eta_formatted} left',
    noTTYOutput: false,
  });
  bar.start(tools.length, 0);
  try {
    for (let from = 0; from < tools.length; from += BATCH) {
      const some = tools.slice(from, from + BATCH);
      add(await api.patch<Changes>(path, { put: some }));
      bar.increment(some.length);
    }
  } finally {
    bar.stop();
  }
  return total;
}
