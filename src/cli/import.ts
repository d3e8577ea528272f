import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { SingleBar } from 'cli-progress';
import { Command } from 'commander';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { ApiClient, ApiProblem } from './api-client.ts';
import { serviceUrl } from './config.ts';
import { readToolsFile } from './read-tools-file.ts';
import { UserError } from './terminal.ts';

interface ImportOptions {
  readonly catalog: string;
  readonly replace?: boolean;
  readonly server?: string;
  readonly url?: string;
}

interface Changes {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly unchanged: number;
}

/** Tools per request: small enough for a progress bar to move, large enough to cost little. */
const BATCH = 250;

export function importCommand(): Command {
  return new Command('import')
    .description('put the tools of a file into a catalog of a running service')
    .argument(
      '<file>',
      'JSON or JSON lines: MCP tools/list, OpenAI, Anthropic or our own shape; - for standard input',
    )
    .option('--catalog <name>', 'catalog, created if there is none', 'default')
    .option('--replace', 'remove the tools that are not in the file')
    .option('--server <name>', 'server to note for tools that name none')
    .option('--url <url>', 'service to talk to; default: the one of this machine')
    .addHelpText(
      'after',
      `
Examples:
  bandolier import tools.json
  bandolier import openai-functions.json --catalog support --replace
  npx some-mcp-client tools/list | bandolier import - --server github`,
    )
    .action(importTools);
}

async function importTools(file: string, options: ImportOptions): Promise<void> {
  const { tools, ignored } = readToolsFile(await readInput(file), options.server);
  const api = new ApiClient(serviceUrl(options.url));
  await createIfMissing(api, options.catalog);
  const changes = await send(api, tools, options);
  const { added, changed, removed, unchanged } = changes;
  process.stdout.write(
    `Catalog ${options.catalog}: ${added} added, ${changed} changed, ${removed} removed, ${unchanged} unchanged.\n`,
  );
  if (ignored.length > 0) process.stdout.write(`Fields that were not taken over: ${ignored.join(', ')}.\n`);
}

async function readInput(file: string): Promise<string> {
  try {
    return file === '-' ? await text(process.stdin) : await readFile(file, 'utf8');
  } catch (error) {
    throw new UserError(`${file} cannot be read: ${(error as Error).message}.`);
  }
}

async function createIfMissing(api: ApiClient, catalog: string): Promise<void> {
  try {
    await api.get(`/v1/catalogs/${encodeURIComponent(catalog)}`);
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.code !== 'catalog-not-found') throw error;
    await api.put(`/v1/catalogs/${encodeURIComponent(catalog)}`, {});
  }
}

async function send(
  api: ApiClient,
  tools: readonly ToolDefinition[],
  options: ImportOptions,
): Promise<Changes> {
  const path = `/v1/catalogs/${encodeURIComponent(options.catalog)}/tools`;
  // A catalog is replaced in one step, or an agent would meet half of it.
  if (options.replace) return api.put<Changes>(path, { tools });
  const total = { added: 0, changed: 0, removed: 0, unchanged: 0 };
  const bar = new SingleBar({
    format: ' {bar} {value}/{total} tools, {eta_formatted} left',
    noTTYOutput: false,
  });
  bar.start(tools.length, 0);
  try {
    for (let from = 0; from < tools.length; from += BATCH) {
      const put = tools.slice(from, from + BATCH);
      const changes = await api.patch<Changes>(path, { put });
      for (const key of Object.keys(total) as (keyof Changes)[]) total[key] += changes[key];
      bar.increment(put.length);
    }
  } finally {
    bar.stop();
  }
  return total;
}
