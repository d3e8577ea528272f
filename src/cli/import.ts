import { SingleBar } from 'cli-progress';
import { Command } from 'commander';
import type { ToolChanges } from '../catalog/change-tools.ts';
import { toolFaults } from '../http/wire/tool-faults.ts';
import { definitionHash } from '../ledger/definition-hash.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { type ReadTools, readTools } from '../sources/formats/read-tools.ts';
import { serverPrefix, someOf } from '../sources/formats/tool-fields.ts';
import { ApiClient, ApiProblem, catalogPath } from './api-client.ts';
import { catalogOption, jsonOption, serviceUrl, urlOption } from './options.ts';
import { readText } from './read-text.ts';
import { printJson, UserError } from './terminal.ts';

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
/** Tools per line of progress where there is no terminal for a bar. */
const LINE_EVERY = 5_000;

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
others go in; the exit code is 1 then. Tools of another server are not overwritten: --prefix gives names of their own.

Examples:
  bandolier import tools.json
  bandolier import openapi.yaml --catalog billing --dry-run
  bandolier import openai-functions.json --catalog support --replace
  npx some-mcp-client tools/list | bandolier import - --server github`,
    )
    .action(importTools);
}

async function importTools(file: string, options: ImportOptions): Promise<void> {
  const read = readTools(await readText(file), toolFaults, options);
  const { tools, refused } = read;
  if (tools.length === 0 || (options.replace && refused.length > 0)) {
    const why = tools.length === 0 ? 'No tool of this file can go in' : 'These tools cannot go in';
    throw new UserError(
      `${why}:\n${refusedText(read)}Nothing was changed. Correct them, or take them out of the file.`,
    );
  }
  const api = new ApiClient(serviceUrl(options.url));
  const { catalog, dryRun = false } = options;
  const stored = await storedCatalog(api, catalog);
  if (stored !== null && !options.replace) refuseOthersNames(tools, stored, catalog);
  if (stored === null && !dryRun) await api.put(catalogPath(catalog), {});
  const nothing = { byName: new Map(), ignoreDates: false };
  const would = dryRun ? compare(tools, stored ?? nothing, options.replace) : null;
  const changes = would ?? (await put(api, tools, options));
  if (options.json) {
    const { providerTools, prefixed, ignored } = read;
    printJson({ catalog, dryRun, ...changes, refused, providerTools, prefixed, ignored });
  } else {
    const { added, changed, removed, unchanged } = changes;
    const dry = dryRun ? ' (not done: this was a dry run)' : '';
    process.stdout.write(
      `Catalog ${catalog}: ${added} added, ${changed} changed, ${removed} removed, ${unchanged} unchanged${dry}.\n${namesText(would?.names)}${remarks(read)}`,
    );
  }
  if (refused.length === 0) return;
  process.stderr.write(`bandolier: ${refused.length} of the tools cannot go in:\n${refusedText(read)}`);
  process.exitCode = 1;
}

/** Names in a list for people; `--json` has all of them. */
const NAMED = 10;

function namesText(names: ChangedNames | undefined): string {
  return Object.entries(names ?? {})
    .filter(([, some]) => some.length > 0)
    .map(([what, some]) => `${what}: ${someOf(some, NAMED)}\n`)
    .join('');
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

/** Names, of what an import would do. */
interface ChangedNames {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** What an import would change. */
function compare(
  tools: readonly ToolDefinition[],
  { byName, ignoreDates }: StoredCatalog,
  replace = false,
): Changes & { readonly names: ChangedNames } {
  const inFile = new Set(tools.map(({ name }) => name));
  const isSame = (tool: ToolDefinition): boolean =>
    byName.get(tool.name)?.definitionHash === definitionHash(tool, { ignoreDates });
  const names = {
    added: tools.filter(({ name }) => !byName.has(name)).map(({ name }) => name),
    changed: tools.filter((tool) => byName.has(tool.name) && !isSame(tool)).map(({ name }) => name),
    removed: replace ? [...byName.keys()].filter((name) => !inFile.has(name)) : [],
  };
  const { added, changed, removed } = names;
  return {
    ...{ added: added.length, changed: changed.length, removed: removed.length },
    unchanged: tools.length - added.length - changed.length,
    names,
  };
}

/** @throws UserError if a tool of another server would be overwritten: what was learned about that one is not about this one. */
function refuseOthersNames(
  tools: readonly ToolDefinition[],
  { byName, ignoreDates }: StoredCatalog,
  catalog: string,
): void {
  const taken = tools.filter((tool) => {
    const stored = byName.get(tool.name);
    if (stored === undefined || stored.server === tool.server) return false;
    // A tool that had no server may get one, if nothing else changes.
    const { server: _, ...rest } = tool;
    return stored.server !== undefined || stored.definitionHash !== definitionHash(rest, { ignoreDates });
  });
  const [first] = taken;
  if (first === undefined) return;
  const names = taken.slice(0, NAMED).map(({ name }) => {
    const server = byName.get(name)!.server;
    return `  ${name} ${server === undefined ? 'names no server' : `is of server ${server}`}\n`;
  });
  const prefix = serverPrefix(first.server ?? 'other');
  throw new UserError(
    `${taken.length} ${taken.length === 1 ? 'tool' : 'tools'} of catalog ${catalog} would be overwritten by tools of ${first.server === undefined ? 'a file that names no server' : `server ${first.server}`}:\n` +
      `${names.join('')}${taken.length > NAMED ? '  …\n' : ''}Nothing was changed. Give those of the file names of their own with \`--prefix ${prefix}\`, name their server as before ` +
      'with `--server`, or put the file in place of the whole catalog with `--replace`.',
  );
}

/** What a catalog holds before an import. */
interface StoredCatalog {
  readonly byName: ReadonlyMap<string, StoredTool>;
  readonly ignoreDates: boolean;
}

/** @returns null if there is no such catalog */
async function storedCatalog(api: ApiClient, catalog: string): Promise<StoredCatalog | null> {
  try {
    const { settings } = await api.get<{ settings: { ignoreDates?: boolean } }>(catalogPath(catalog));
    const byName = new Map<string, StoredTool>();
    for await (const tool of storedTools(api, catalog)) byName.set(tool.name, tool);
    return { byName, ignoreDates: settings.ignoreDates ?? false };
  } catch (error) {
    if (error instanceof ApiProblem && error.code === 'catalog-not-found') return null;
    throw error;
  }
}

interface StoredTool {
  readonly name: string;
  readonly server?: string;
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

async function put(
  api: ApiClient,
  tools: readonly ToolDefinition[],
  { catalog, replace }: ImportOptions,
): Promise<Changes> {
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
      const done = from + some.length;
      if (!process.stderr.isTTY && done % LINE_EVERY === 0)
        process.stderr.write(`${done} of ${tools.length} tools\n`);
    }
  } finally {
    bar.stop();
  }
  return total;
}
