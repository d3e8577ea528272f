import { userInfo } from 'node:os';
import { Command, Option } from 'commander';
import type { LearnedEffect } from '../../bandit/effects/instruction-effects.ts';
import type { InstructionChanges } from '../instructions/instructions.ts';
import { withMembers } from '../instructions/plan-prompt.ts';
import {
  INSTRUCTION_KINDS,
  type InstructionDefinition,
  type InstructionKind,
} from '../ledger/instruction-definition.ts';
import { ApiClient, catalogPath } from './api-client.ts';
import { type AskOptions, asking, serviceUrl, wholeNumber } from './options.ts';
import { counted, print, table, UserError } from './terminal.ts';

export const actorOption = new Option('--actor <name>', 'who it is, for the log; default: your user name');

interface ActorOptions extends AskOptions {
  readonly actor?: string;
}

/** An instruction as the service lists it. */
export interface ListedInstruction extends InstructionDefinition {
  readonly pending?: InstructionDefinition;
  readonly learned: LearnedEffect | null;
  readonly updatedAt: string;
  readonly approvedBy?: string;
}

export function instructionsCommand(): Command {
  const command = new Command('instructions').description(
    'show the instructions of a catalog, change, approve and remove them',
  );
  const sub = (name: string, description: string): Command =>
    asking(command.command(name).description(description));
  sub('list', 'all instructions; with --awaiting those that are not served yet, with their text')
    .option('--awaiting', 'drafts, and changes of what is served')
    .action(list);
  sub('approve', 'serve drafts and changes: those that are named, or all')
    .argument('[ids...]')
    .addOption(actorOption)
    .action(approve);
  sub('set', 'change kind, priority or domain of an instruction, and nothing else')
    .argument('<id>')
    .addOption(
      new Option('--kind <kind>', 'its priority changes with it, if it is that of its kind').choices(
        INSTRUCTION_KINDS,
      ),
    )
    .option('--priority <number>', '0 to 100; the highest stands first', wholeNumber(0, 100))
    .option('--domain <text>', 'word for retrieval')
    .addOption(actorOption)
    .action(set);
  sub('remove', 'remove instructions').argument('<ids...>').addOption(actorOption).action(remove);
  return command.addHelpText(
    'after',
    `
Examples:
  bandolier import-prompt system.md
  bandolier instructions list --awaiting
  bandolier instructions set system/refunds-3f2a81 --kind safety
  bandolier instructions approve
  bandolier instructions remove system/refunds-3f2a81`,
  );
}

async function list({ awaiting, ...options }: AskOptions & { readonly awaiting?: boolean }): Promise<void> {
  const { instructions } = await storedInstructions(
    api(options),
    options.catalog,
    awaiting ? 'draft' : undefined,
  );
  const none = awaiting
    ? `Nothing of catalog ${options.catalog} waits for approval.\n`
    : `Catalog ${options.catalog} has no instructions. Add some with \`bandolier import-prompt <file>\`.\n`;
  const text = awaiting ? instructions.map(waiting).join('\n') : overview(instructions);
  print(options.json, { instructions }, instructions.length === 0 ? none : text);
}

function overview(instructions: readonly ListedInstruction[]): string {
  const rows = instructions.map(({ id, kind, priority, status, pending, learned, approvedBy = '', text }) => [
    ...[id, kind, String(priority), pending === undefined ? status : `${status}, a change waits`],
    ...[effectOf(learned), approvedBy, beginningOf(text)],
  ]);
  return table([['ID', 'KIND', 'PRIORITY', 'STATUS', 'EFFECT', 'APPROVED BY', 'TEXT'], ...rows]);
}

/** The effect, and in brackets what it is worth as evidence. */
function effectOf(learned: LearnedEffect | null): string {
  if (learned === null) return '';
  const { effect, evidence } = learned;
  return `${effect < 0 ? '−' : '+'}${Math.abs(effect).toFixed(2)} (${Math.round(evidence)})`;
}

function waiting({ pending, ...served }: ListedInstruction): string {
  const { id, kind, text } = pending ?? served;
  const before = pending === undefined ? '' : `--- served now\n${served.text}\n--- change\n`;
  return `${id} (${kind}, ${pending === undefined ? 'new' : 'changed'})\n${before}${text}\n`;
}

/** The first words of a text, without its headings. */
export function beginningOf(text: string): string {
  const body = text.replace(/^(?:#.*\n+)+/, '').replace(/\s+/g, ' ');
  return body.length > 60 ? `${body.slice(0, 59)}…` : body;
}

async function approve(ids: readonly string[], options: ActorOptions): Promise<void> {
  const client = api(options);
  // What is approved is what there is now, and nothing that comes meanwhile.
  const { revision } = await storedInstructions(client, options.catalog, 'draft');
  const body = { ...(ids.length > 0 && { ids }), actor: actorOf(options) };
  const path = `${catalogPath(options.catalog)}/instructions/approve`;
  const changes = await client.post<InstructionChanges>(path, body, { ifMatch: revision });
  const rest = changes.awaiting === 0 ? '' : `, ${changes.awaiting} not yet`;
  print(options.json, changes, `${counted(changes.approved, 'instruction')} approved${rest}.\n`);
}

interface SetOptions extends ActorOptions {
  readonly kind?: InstructionKind;
  readonly priority?: number;
  readonly domain?: string;
}

async function set(id: string, { priority, ...options }: SetOptions): Promise<void> {
  const { kind, domain, catalog } = options;
  if (kind === undefined && domain === undefined && priority === undefined) {
    throw new UserError('Say what to change: --kind, --priority or --domain.');
  }
  const client = api(options);
  const { instructions, revision } = await storedInstructions(client, catalog);
  const known = instructions.find((one) => one.id === id);
  if (known === undefined) {
    throw new UserError(
      `Catalog ${catalog} has no instruction ${id}. \`bandolier instructions list\` shows them.`,
    );
  }
  const { pending, ...served } = known;
  const { status: _, ...latest } = withMembers(definitionOf(pending ?? served), options);
  const put = [{ ...latest, ...(priority !== undefined && { priority }) }];
  const body = { put, actor: actorOf(options) };
  const path = `${catalogPath(catalog)}/instructions`;
  const changes = await client.patch<InstructionChanges>(path, body, { ifMatch: revision });
  const waits = changes.changed === 0 ? 'as it was' : 'changed; it waits for approval';
  print(options.json, changes, `${id}: ${put[0].kind}, priority ${put[0].priority}; ${waits}.\n`);
}

async function remove(ids: readonly string[], options: ActorOptions): Promise<void> {
  const body = { remove: ids, actor: actorOf(options) };
  const path = `${catalogPath(options.catalog)}/instructions`;
  const changes = await api(options).patch<InstructionChanges>(path, body);
  const unknown = ids.length - changes.removed;
  const rest = unknown === 0 ? '' : `; ${unknown} of the ids are not there`;
  print(options.json, changes, `${counted(changes.removed, 'instruction')} removed${rest}.\n`);
  if (unknown > 0) process.exitCode = 1;
}

/** All instructions of a catalog, and the revision at which none of them had changed yet. */
export async function storedInstructions(
  client: ApiClient,
  catalog: string,
  status?: 'draft',
): Promise<{ readonly instructions: readonly ListedInstruction[]; readonly revision: string }> {
  const path = `${catalogPath(catalog)}/instructions?limit=1000${status === undefined ? '' : `&status=${status}`}`;
  const instructions: ListedInstruction[] = [];
  let revision: string | null = null;
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: { instructions: ListedInstruction[]; nextCursor: string | null; revision: string } =
      await client.get(cursor === '' ? path : `${path}&cursor=${cursor}`);
    instructions.push(...page.instructions);
    // That of the first page: what changes while the others are read is noticed by If-Match.
    revision ??= page.revision;
    cursor = page.nextCursor;
  }
  return { instructions, revision: revision ?? '' };
}

export function actorOf({ actor }: { readonly actor?: string }): string {
  return actor ?? userInfo().username;
}

function api({ url }: AskOptions): ApiClient {
  return new ApiClient(serviceUrl(url));
}

/** What the service adds to a definition is none of it. */
export function definitionOf(listed: InstructionDefinition): InstructionDefinition {
  const { id, text, kind, priority, domain, tags, includes, status } = listed;
  return {
    ...{ id, text, kind, priority, status },
    ...(domain !== undefined && { domain }),
    ...(tags !== undefined && { tags }),
    ...(includes !== undefined && { includes }),
  };
}
