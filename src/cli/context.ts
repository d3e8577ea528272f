import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import type { ItemChanges } from '../context/item.ts';
import { ApiClient, catalogPath } from './api-client.ts';
import { beginningOf } from './instructions.ts';
import { type AskOptions, asking, serviceUrl } from './options.ts';
import { counted, print, printJson, table, UserError } from './terminal.ts';
import { addTraining } from './train-context.ts';

interface ListedItem {
  readonly id: string;
  readonly text: string;
  readonly store: string;
  readonly kind?: string;
  readonly at?: string;
}

interface Removed {
  readonly removed: number;
}

interface ExportedUser {
  readonly items: readonly ListedItem[];
  readonly training: { readonly examples: readonly object[] };
}

export function contextCommand(): Command {
  const command = new Command('context').description('what users have: show, put, export and erase it');
  const sub = (name: string, description: string): Command =>
    asking(command.command(name).description(description)).argument('<user>', 'id of the user');
  sub('list', 'the items of a user').action(list);
  sub('put', 'put items of a user')
    .argument('<file>', 'JSON: a list of items, or {"items": [...]}')
    .action(put);
  sub('remove', 'delete one item of a user, and how it was used')
    .argument('<item>', 'id of the item')
    .action(remove);
  sub('clear', 'delete all items of a user, and how they were used; what unit memory keeps stays').action(
    clear,
  );
  sub('export', 'everything that can be read of what is held about a user, as JSON').action(
    async (user: string, options: AskOptions) =>
      printJson(await api(options).get(`${userPath(user, options)}/export`)),
  );
  sub('erase', 'erase everything that is held about a user').action(erase);
  addTraining(command);
  return command.addHelpText(
    'after',
    `
Examples:
  bandolier context put user-7 items.json
  bandolier context list user-7
  bandolier context remove user-7 song-81
  bandolier context erase user-7
  bandolier context train`,
  );
}

async function list(user: string, options: AskOptions): Promise<void> {
  const path = `${userPath(user, options)}/context?limit=1000`;
  const items: ListedItem[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: { items: ListedItem[]; nextCursor: string | null } = await api(options).get(
      cursor === '' ? path : `${path}&cursor=${cursor}`,
    );
    items.push(...page.items);
    cursor = page.nextCursor;
  }
  const rows = items.map(({ id, store, kind = '', at = '', text }) => [
    id,
    store,
    kind,
    at,
    beginningOf(text),
  ]);
  const none = `User ${user} has no items in catalog ${options.catalog}.\n`;
  const text = rows.length === 0 ? none : table([['ID', 'STORE', 'KIND', 'AT', 'TEXT'], ...rows]);
  print(options.json, { items }, text);
}

async function put(user: string, file: string, options: AskOptions): Promise<void> {
  const body = itemsIn(await readFile(file, 'utf8'), file);
  const changes = await api(options).put<ItemChanges>(`${userPath(user, options)}/context`, body);
  const { added, changed, unchanged, removed } = changes;
  const expired = removed === 0 ? '' : `, ${removed} whose time was over removed`;
  print(
    options.json,
    changes,
    `${counted(added, 'item')} added, ${changed} changed, ${unchanged} unchanged${expired}.\n`,
  );
}

/** @throws UserError */
function itemsIn(text: string, file: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new UserError(`${file} is no JSON. It has to be a list of items, or {"items": [...]}.`);
  }
  if (Array.isArray(value)) return { items: value };
  if (typeof value === 'object' && value !== null && 'items' in value) return value;
  throw new UserError(`${file} has to be a list of items, or {"items": [...]}.`);
}

async function remove(user: string, item: string, options: AskOptions): Promise<void> {
  const path = `${userPath(user, options)}/context/${encodeURIComponent(item)}`;
  const answer = await api(options).delete<Removed>(path);
  const none = `User ${user} has no item ${item} in catalog ${options.catalog}: nothing was deleted.\n`;
  print(options.json, answer, answer.removed === 0 ? none : `Item ${item} of user ${user} is deleted.\n`);
}

async function clear(user: string, options: AskOptions): Promise<void> {
  const answer = await api(options).delete<Removed>(`${userPath(user, options)}/context`);
  print(options.json, answer, `${counted(answer.removed, 'item')} of user ${user} deleted.\n`);
}

async function erase(user: string, options: AskOptions): Promise<void> {
  const path = userPath(user, options);
  // What cannot be read is erased all the same.
  const held = await api(options)
    .get<ExportedUser>(`${path}/export`)
    .catch((): null => null);
  const { forgotten } = await api(options).delete<{ readonly forgotten: number }>(path);
  const wasHeld = held === null || held.items.length + held.training.examples.length + forgotten > 0;
  const { catalog } = options;
  print(
    options.json,
    { erased: user, held: wasHeld },
    wasHeld
      ? `Everything that catalog ${catalog} held about user ${user} is erased.\n`
      : `Nothing was held about user ${user} in catalog ${catalog}. Is the id right?\n`,
  );
}

function userPath(user: string, { catalog }: AskOptions): string {
  return `${catalogPath(catalog)}/users/${encodeURIComponent(user)}`;
}

function api({ url }: AskOptions): ApiClient {
  return new ApiClient(serviceUrl(url));
}
