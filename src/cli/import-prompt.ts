import { Command, Option } from 'commander';
import type { InstructionChanges } from '../instructions/instructions.ts';
import { earlierName, type PlannedUnit, planPrompt, promptName } from '../instructions/plan-prompt.ts';
import { splitPrompt } from '../instructions/split-prompt.ts';
import {
  INSTRUCTION_KINDS,
  type InstructionKind,
  MAX_INSTRUCTION_TEXT,
} from '../ledger/instruction-definition.ts';
import { ESTIMATE } from '../tokens/estimate.ts';
import { ApiClient, ApiProblem, catalogPath } from './api-client.ts';
import {
  actorOf,
  actorOption,
  beginningOf,
  definitionOf,
  type ListedInstruction,
  storedInstructions,
} from './instructions.ts';
import { type AskOptions, catalogOption, jsonOption, serviceUrl, urlOption } from './options.ts';
import { readText } from './read-text.ts';
import { counted, percent, printJson, table, UserError } from './terminal.ts';

/** Characters. What is longer is no system prompt; a prompt of 30 pages has a hundred thousand. */
const MAX_PROMPT = 4 * 1024 * 1024;

interface ImportOptions extends AskOptions {
  readonly name?: string;
  readonly domain?: string;
  readonly kind?: InstructionKind;
  readonly approve?: boolean;
  readonly actor?: string;
  readonly dryRun?: boolean;
}

export function importPromptCommand(): Command {
  return new Command('import-prompt')
    .description('split a system prompt into instructions, and put what changed into a catalog')
    .argument('<file>', 'Markdown or plain text; - for standard input')
    .addOption(catalogOption('created if there is none'))
    .option('--name <name>', 'what the ids begin with; default: the name of the file')
    .option('--domain <text>', 'domain of all of its instructions; default: new ones have none')
    .addOption(
      new Option(
        '--kind <kind>',
        'kind of all of its instructions; default: new ones are guessed from English words',
      ).choices(INSTRUCTION_KINDS),
    )
    .option('--approve', 'serve them at once; default: they are drafts')
    .addOption(actorOption)
    .option('--dry-run', 'say what would change, and change nothing')
    .addOption(urlOption)
    .addOption(jsonOption)
    .addHelpText(
      'after',
      `
The prompt is split along its headings, lists and paragraphs into units of 200 to 600 tokens. Again, it is compared with what came from
the same name before: only what changed is put, what is gone is removed, and other instructions are left alone.

Examples:
  bandolier import-prompt system.md --dry-run
  bandolier import-prompt system.md
  bandolier instructions approve`,
    )
    .action(importPrompt);
}

async function importPrompt(file: string, options: ImportOptions): Promise<void> {
  const name = options.name === undefined ? promptName(file === '-' ? '' : file) : promptName(options.name);
  const units = splitPrompt(await readPrompt(file), ESTIMATE.count);
  if (units.length === 0) throw new UserError(`${file} has no text: there is nothing to split.`);
  const long = units.find(({ text }) => text.length > MAX_INSTRUCTION_TEXT);
  if (long !== undefined) {
    throw new UserError(
      `${file} has a part of ${long.text.length} characters that cannot be divided, and an instruction has at most ${MAX_INSTRUCTION_TEXT}: "${beginningOf(long.text)}". Divide it in the file; code, tables and list items are never torn apart.`,
    );
  }
  const { catalog, dryRun = false } = options;
  const api = new ApiClient(serviceUrl(options.url));
  const stored = await storedIfAny(api, catalog);
  const known = stored?.instructions ?? [];
  const latest = known.map(({ pending, ...served }) => definitionOf(pending ?? served));
  const plan = planPrompt(name, units, latest, options);
  const awaiting = new Set(known.filter((one) => one.status === 'draft' || one.pending).map(({ id }) => id));
  const put = plan.units.filter(
    ({ change, instruction }) =>
      change !== 'unchanged' || (options.approve === true && awaiting.has(instruction.id)),
  );
  const changes = dryRun ? null : await send(api, { put, removed: plan.removed, stored }, options);
  const earlier = earlierName(plan, latest);
  const rows = plan.units.map(({ change, tokens, instruction: { id, kind, text } }) => [
    ...[change === 'unchanged' ? '' : change, id, kind, String(tokens), beginningOf(text)],
  ]);
  if (options.json) {
    return printJson({ catalog, name, dryRun, units: plan.units, removed: plan.removed, ...changes });
  }
  const total = units.reduce((sum, { tokens }) => sum + tokens, 0);
  const count = (change: PlannedUnit['change']): number =>
    plan.units.filter((one) => one.change === change).length;
  process.stdout.write(
    [
      table([['', 'ID', 'KIND', 'TOKENS', 'TEXT'], ...rows]),
      ...plan.removed.map((id) => `removed: ${id}\n`),
      `Catalog ${catalog}: ${counted(units.length, 'unit')} of ${total} tokens; ${count('added')} added, ${count('changed')} changed, ${plan.removed.length} removed, ${count('unchanged')} unchanged`,
      dryRun ? ' (not done: this was a dry run).\n' : '.\n',
      ...(options.name === undefined || options.name === name
        ? []
        : [`Ids cannot begin with the name "${options.name}": they begin with ${name}/.\n`]),
      ...(earlier === null
        ? []
        : [
            `Most of it is in the catalog already, as ${earlier}/…: if the file was renamed, import it with --name ${earlier}, so that nothing is there twice.\n`,
          ]),
      ...(changes === null ? [] : remarks(changes, earlier, options)),
    ].join(''),
  );
}

function remarks(
  { awaiting, duplicates, duplicatesComplete }: InstructionChanges,
  earlier: string | null,
  { catalog }: ImportOptions,
): string[] {
  const where = catalog === 'default' ? '' : ` --catalog ${catalog}`;
  return [
    ...duplicates
      .filter(({ ids }) => !ids.some((id) => earlier !== null && id.startsWith(`${earlier}/`)))
      .map(
        ({ ids: [a, b], similarity, exact }) =>
          `${a} and ${b} are ${exact ? 'the same' : `${percent(similarity)} alike`}.\n`,
      ),
    ...(duplicatesComplete
      ? []
      : ['There may be more that are alike: too many texts are for all of them to be compared.\n']),
    ...(awaiting === 0
      ? []
      : [
          `Not served until somebody approves ${awaiting === 1 ? 'it' : 'them'}: ${awaiting}. bandolier instructions approve${where}\n`,
        ]),
  ];
}

async function readPrompt(file: string): Promise<string> {
  const text = await readText(file);
  if (text.length <= MAX_PROMPT) return text;
  const size = (text.length / 1024 / 1024).toFixed(1);
  throw new UserError(
    `${file} has ${size} million characters, and a system prompt may have ${MAX_PROMPT / 1024 / 1024}. Documents that agents read are no instructions; import the part that says what to do.`,
  );
}

interface Stored {
  readonly instructions: readonly ListedInstruction[];
  readonly revision: string;
}

/** @returns null if there is no such catalog */
async function storedIfAny(api: ApiClient, catalog: string): Promise<Stored | null> {
  try {
    return await storedInstructions(api, catalog);
  } catch (error) {
    if (error instanceof ApiProblem && error.code === 'catalog-not-found') return null;
    throw error;
  }
}

/** In one request, so that no agent meets half of a prompt. */
async function send(
  api: ApiClient,
  {
    put,
    removed,
    stored,
  }: { put: readonly PlannedUnit[]; removed: readonly string[]; stored: Stored | null },
  options: ImportOptions,
): Promise<InstructionChanges> {
  const path = catalogPath(options.catalog);
  if (stored === null) await api.put(path, {});
  const status = options.approve ? { status: 'approved' } : {};
  const body = {
    put: put.map(({ instruction }) => ({ ...instruction, ...status })),
    remove: removed,
    actor: actorOf(options),
  };
  const condition = stored === null ? {} : { ifMatch: stored.revision };
  return api.patch<InstructionChanges>(`${path}/instructions`, body, condition);
}
