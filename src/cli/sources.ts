import { resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Command, Option } from 'commander';
import type { ToolChanges } from '../catalog/change-tools.ts';
import type { sourceDefinitionSchema } from '../http/wire/source.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import type { SourceView, WholeSourceView } from '../sources/sources.ts';
import { ApiClient, ApiProblem, catalogPath } from './api-client.ts';
import { heldLines } from './held-tools.ts';
import { type AskOptions, asking, serviceUrl, wholeNumber } from './options.ts';
import { sourcesLoginCommand } from './sources-login.ts';
import { counted, print, printJson, sentence, table, UserError } from './terminal.ts';

const SECRETS = `secrets as \${BANDOLIER_SECRET_…}`;

export function sourcesCommand(): Command {
  const command = new Command('sources').description(
    'show where the tools of a catalog come from, and have more read by themselves',
  );
  const sub = (name: string, description: string): Command =>
    asking(command.command(name).description(description));

  sub('list', 'all sources of a catalog').action(list);
  sub('show', 'one source: what could not be put, and what waits for approval')
    .argument('<name>')
    .action(show);
  sub('put', 'add a source, or change one; it is read at once')
    .argument('<name>')
    .argument('<what>', 'address, file or folder; for --kind mcp also a program')
    .argument('[args...]', 'arguments of the program; put -- before them')
    .addOption(
      new Option(
        '--kind <kind>',
        'what it is; default: an OpenAPI document by its name, else a list of tools',
      ).choices(['mcp', 'openapi', 'file', 'skills']),
    )
    .option('--header <line...>', `sent to the address, as "name: value"; ${SECRETS}`)
    .option('--env <setting...>', `variable of the program, as NAME=value; ${SECRETS}`)
    .option('--prefix <text>', 'text before every name, e.g. "github."')
    .option('--quarantine', 'hold changed definitions back until they are approved')
    .option('--refresh <seconds>', 'how often it is read again; 0: when asked for', wholeNumber(0, 604_800))
    .action(put);
  sub('sync', 'read sources now: those that are named, or all').argument('[names...]').action(sync);
  sub('approve', 'serve definitions that were held back')
    .argument('<name>')
    .argument('[tools...]', 'default: all that wait')
    .action(approve);
  sub('remove', 'remove a source with its tools')
    .argument('<name>')
    .option('--keep-tools', 'its tools stay in the catalog')
    .action(remove);
  command.addCommand(sourcesLoginCommand());
  return command.addHelpText(
    'after',
    `
The service reads sources, so files, folders and programs are those of its machine; they need BANDOLIER_LOCAL_SOURCES=true
where it runs. \`bandolier import\` sends a file of this machine, once.

Examples:
  bandolier sources put billing https://api.example.com/openapi.json --kind openapi
  bandolier sources put github https://mcp.example.com/mcp --kind mcp --header 'authorization: Bearer \${BANDOLIER_SECRET_GITHUB}'
  bandolier sources put memory npx --kind mcp -- -y @modelcontextprotocol/server-memory
  bandolier sources put skills ~/skills --kind skills
  bandolier sources approve github
  bandolier sources login github`,
  );
}

async function list(options: AskOptions): Promise<void> {
  const { sources } = await api(options).get<{ sources: SourceView[] }>(pathOf(options));
  const rows = sources.map(({ name, kind, status, tools, held, lastSync, nextSync, error }) => [
    ...[name, kind, status, String(tools), held === 0 ? '' : String(held)],
    ...[timeOf(lastSync), timeOf(nextSync), (error ?? '').slice(0, 100)],
  ]);
  const head = ['NAME', 'KIND', 'STATUS', 'TOOLS', 'HELD', 'LAST SYNC', 'NEXT SYNC', 'ERROR'];
  const none = `Catalog ${options.catalog} has no sources. Add one with \`bandolier sources put <name> <address or file>\`.\n`;
  print(options.json, { sources }, rows.length === 0 ? none : table([head, ...rows]));
}

async function show(name: string, options: AskOptions): Promise<void> {
  const client = api(options);
  const source = await client.get<Shown>(pathOf(options, name));
  if (options.json) return printJson(source);
  const { kind, status, tools, error, lastSync, nextSync, leftOut, leftOutCount, heldTools, held } = source;
  const lines = [
    `${name}: ${kind}, ${status}, ${counted(tools, 'tool')}; last read ${timeOf(lastSync)}, next ${timeOf(nextSync)}`,
    ...(error === undefined ? [] : [`It could not be read: ${sentence(error)}`]),
    ...(leftOutCount === 0 ? [] : [`Left out: ${counted(leftOutCount, 'tool')}`]),
    ...leftOut.map((one) => `  ${one.name}: ${one.why}`),
    ...(held === 0
      ? []
      : [`Held back until \`bandolier sources approve ${name}\`: ${counted(held, 'definition')}`]),
    ...(await changesOf(client, heldTools, options)),
    ...(held > heldTools.length ? [`  and ${held - heldTools.length} more`] : []),
    `definition: ${JSON.stringify(source.definition)}`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

interface Held {
  readonly tool: ToolDefinition;
}

type Shown = Omit<WholeSourceView, 'heldTools'> & { readonly heldTools: readonly Held[] };

/** What definitions that wait would change. */
async function changesOf(
  client: ApiClient,
  held: readonly Held[],
  { catalog }: AskOptions,
): Promise<string[]> {
  const lines: string[] = [];
  for (const { tool } of held) {
    const path = `${catalogPath(catalog)}/tools/${encodeURIComponent(tool.name)}`;
    const served = await client.get<ToolDefinition>(path).catch((error: unknown) => {
      if (error instanceof ApiProblem && error.code === 'tool-not-found') return null;
      throw error;
    });
    lines.push(...heldLines(tool, served));
  }
  return lines;
}

interface PutOptions extends AskOptions {
  readonly kind?: 'mcp' | 'openapi' | 'file' | 'skills';
  readonly header?: readonly string[];
  readonly env?: readonly string[];
  readonly prefix?: string;
  readonly quarantine?: boolean;
  readonly refresh?: number;
}

async function put(name: string, what: string, args: readonly string[], options: PutOptions): Promise<void> {
  const { refresh } = options;
  const definition = {
    ...placeOf(what, args, options),
    ...(options.prefix !== undefined && { prefix: options.prefix }),
    ...(options.quarantine && { onChange: 'quarantine' }),
    ...(refresh !== undefined && { refreshSeconds: refresh === 0 ? null : refresh }),
  };
  const client = api(options);
  const path = pathOf(options, name);
  const source = await client.put<SourceView>(path, definition);
  // The service reads a new definition by itself. The same one again is read because somebody asks for it.
  const isNew = source.status === 'waiting';
  report(
    isNew ? await firstRead(client, path) : await client.post<SourceView>(`${path}/sync`, undefined),
    options,
  );
}

/** How often it is asked whether a source was read, and for how long, ms. */
const ASK_EVERY_MS = 200;
const READ_MS = 150_000;

/** @throws UserError when that takes too long */
async function firstRead(client: ApiClient, path: string): Promise<SourceView> {
  for (let waited = 0; waited < READ_MS; waited += ASK_EVERY_MS) {
    const { leftOut: _, heldTools: _h, ...source } = await client.get<Shown>(path);
    if (source.status !== 'waiting') return source;
    await wait(ASK_EVERY_MS);
  }
  throw new UserError('It is kept, and still being read: `bandolier sources list` says when that has ended.');
}

type Given = (typeof sourceDefinitionSchema)['_input'];

function placeOf(what: string, args: readonly string[], { kind, header, env }: PutOptions): Given {
  const isAddress = /^https?:\/\//i.test(what);
  const chosen = kind ?? (/openapi|swagger/i.test(what) ? 'openapi' : 'file');
  if (isAddress) {
    return { kind: chosen, url: what, ...(header && { headers: pairs(header, ':', '--header') }) };
  }
  if (chosen !== 'mcp') return { kind: chosen, path: resolve(what) };
  return {
    ...{ kind: chosen, command: what, args: [...args] },
    ...(env && { env: pairs(env, '=', '--env') }),
  };
}

/** @throws UserError */
function pairs(texts: readonly string[], sign: string, option: string): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf(sign);
      if (at > 0) return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
      throw new UserError(`${option}: "${text}" is no name with ${sign} and a value after it.`);
    }),
  );
}

async function sync(names: readonly string[], options: AskOptions): Promise<void> {
  const client = api(options);
  const all = async () => (await client.get<{ sources: SourceView[] }>(pathOf(options))).sources;
  const named = names.length > 0 ? names : (await all()).map(({ name }) => name);
  for (const name of named) {
    report(await client.post<SourceView>(`${pathOf(options, name)}/sync`, undefined), options);
  }
}

function report(source: SourceView, options: AskOptions): void {
  const { name, tools, held, error, leftOutCount, nextSync } = source;
  const more = [
    ...(held === 0 ? [] : [counted(held, 'definition') + (held === 1 ? ' waits' : ' wait')]),
    ...(leftOutCount === 0 ? [] : [`${leftOutCount} left out`]),
  ];
  const where = more.length === 0 ? '.' : `, ${more.join(', ')}: bandolier sources show ${name}`;
  if (error === undefined) print(options.json, source, `${name}: ${counted(tools, 'tool')}${where}\n`);
  else {
    if (options.json) printJson(source);
    const stay = tools === 0 ? '' : ` with its ${counted(tools, 'tool')}`;
    const again = nextSync === null ? '' : `, and read again at ${timeOf(nextSync)}`;
    process.stderr.write(
      `bandolier: ${name} could not be read: ${sentence(error)} The source is kept${stay}${again}.\n`,
    );
    process.exitCode = 1;
  }
}

async function approve(name: string, tools: readonly string[], options: AskOptions): Promise<void> {
  const client = api(options);
  const body = tools.length === 0 ? {} : { tools };
  const { heldTools } = await client.get<Shown>(pathOf(options, name));
  const approved = heldTools.filter(({ tool }) => tools.length === 0 || tools.includes(tool.name));
  const lines = options.json ? [] : await changesOf(client, approved, options);
  const changes = await client.post<ToolChanges>(`${pathOf(options, name)}/approve`, body);
  const text = lines.map((line) => `${line}\n`).join('');
  print(options.json, changes, `${text}${name}: ${changes.added} added, ${changes.changed} changed.\n`);
}

async function remove(name: string, options: AskOptions & { readonly keepTools?: boolean }): Promise<void> {
  await api(options).delete(`${pathOf(options, name)}${options.keepTools ? '?tools=keep' : ''}`);
  const tools = options.keepTools ? 'its tools stay' : 'its tools went with it';
  print(options.json, { removed: name }, `${name} was removed; ${tools}.\n`);
}

function pathOf({ catalog }: AskOptions, name?: string): string {
  const path = `${catalogPath(catalog)}/sources`;
  return name === undefined ? path : `${path}/${encodeURIComponent(name)}`;
}

function timeOf(time: string | null): string {
  return time === null ? '–' : time.replace(/\.\d+Z$/, 'Z');
}

function api({ url }: AskOptions): ApiClient {
  return new ApiClient(serviceUrl(url));
}
