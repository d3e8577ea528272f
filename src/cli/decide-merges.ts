import { createInterface, type Interface } from 'node:readline';
import type { MergeStatus } from '../ledger/merge-definition.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { ApiClient, ApiProblem, catalogPath } from './api-client.ts';
import { actorOf } from './instructions.ts';
import { definitionsText, type ListedMerge, MOST_NAMED, mergeText } from './merge-text.ts';
import { type AskOptions, serviceUrl } from './options.ts';
import { print } from './terminal.ts';

export interface ActorOptions extends AskOptions {
  readonly actor?: string;
}

type Decision = 'approve' | 'reject' | 'undo';

export const DECISIONS: readonly (readonly [Decision, string])[] = [
  ['approve', 'serve the tools of these merges as one'],
  ['reject', 'do not merge them; they are not proposed again until one of the tools changes'],
  ['undo', 'serve the tools of approved merges as they were put again'],
];

const DONE: Readonly<Record<Decision, string>> = {
  approve: 'approved',
  reject: 'rejected',
  undo: 'undone',
};

export async function decide(
  decision: Decision,
  ids: readonly string[],
  options: ActorOptions,
): Promise<void> {
  const decided: ListedMerge[] = [];
  for (const id of ids) {
    decided.push(await post(decision, id, options));
    if (!options.json) process.stdout.write(`${id} is ${DONE[decision]}.\n`);
  }
  if (options.json) print(true, { merges: decided }, '');
}

/** @param digest of what was looked at, to approve nothing else */
function post(decision: Decision, id: string, options: ActorOptions, digest?: string): Promise<ListedMerge> {
  return api(options).post<ListedMerge>(`${mergePath(options, id)}/${decision}`, {
    actor: actorOf(options),
    ...(digest !== undefined && { digest }),
  });
}

/** Asks about one proposal after the other. Where nobody can answer, it prints them all. */
export async function review(options: ActorOptions): Promise<void> {
  const merges = await all(options, 'proposed');
  if (options.json) {
    const whole = [];
    for (const merge of merges) whole.push({ ...merge, definitions: await definitionsOf(options, merge) });
    return print(true, { merges: whole }, '');
  }
  if (merges.length === 0) {
    process.stdout.write('Nothing waits for a decision. Look for merges with `bandolier merges propose`.\n');
    return;
  }
  const text = async (merge: ListedMerge): Promise<string> =>
    `${mergeText(merge)}${definitionsText(merge, await definitionsOf(options, merge, MOST_NAMED))}`;
  if (!process.stdin.isTTY) {
    for (const merge of merges) process.stdout.write(`${await text(merge)}\n`);
    process.stdout.write('Decide with `bandolier merges approve <id>` or `bandolier merges reject <id>`.\n');
    return;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  // Ctrl-C and Ctrl-D end the review as `q` does; what was decided stays.
  terminal.on('SIGINT', () => terminal.close());
  const lines = terminal[Symbol.asyncIterator]();
  try {
    for (const [at, merge] of merges.entries()) {
      process.stdout.write(`\n${at + 1} of ${merges.length}\n${await text(merge)}`);
      const answer = await answered(terminal, lines, merge);
      if (answer === 'quit') return;
      if (answer === 'later') continue;
      await post(answer, merge.id, options, answer === 'approve' ? merge.digest : undefined);
      process.stdout.write(`${DONE[answer]}\n`);
    }
  } finally {
    terminal.close();
  }
}

async function answered(
  terminal: Interface,
  lines: AsyncIterator<string>,
  merge: ListedMerge,
): Promise<'approve' | 'reject' | 'later' | 'quit'> {
  terminal.setPrompt('[a]pprove, [r]eject, [l]ater, [d]efinition, [q]uit? ');
  for (;;) {
    terminal.prompt();
    const { done, value } = await lines.next();
    if (done) return 'quit';
    switch (value.trim().toLowerCase()[0]) {
      case 'a':
        return 'approve';
      case 'r':
        return 'reject';
      case 'l':
        return 'later';
      case 'q':
        return 'quit';
      case 'd':
        process.stdout.write(`${JSON.stringify(merge.definition, null, 2)}\n`);
    }
  }
}

export async function all(options: AskOptions, status?: MergeStatus): Promise<ListedMerge[]> {
  const path = `${catalogPath(options.catalog)}/merges?limit=1000${status === undefined ? '' : `&status=${status}`}`;
  const merges: ListedMerge[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: { readonly merges: readonly ListedMerge[]; readonly nextCursor: string | null } = await api(
      options,
    ).get(cursor === '' ? path : `${path}&cursor=${cursor}`);
    merges.push(...page.merges);
    cursor = page.nextCursor;
  }
  return merges;
}

/** Returns the definitions of the members as they were put, by name, of the first `most` of them; those that are gone are missing. */
export async function definitionsOf(
  options: AskOptions,
  { members }: ListedMerge,
  most = members.length,
): Promise<Record<string, ToolDefinition>> {
  const found: Record<string, ToolDefinition> = {};
  for (const name of members.slice(0, most)) {
    const path = `${catalogPath(options.catalog)}/tools/${encodeURIComponent(name)}`;
    try {
      found[name] = await api(options).get<ToolDefinition>(path);
    } catch (error) {
      if (!(error instanceof ApiProblem) || error.code !== 'tool-not-found') throw error;
    }
  }
  return found;
}

export function mergePath({ catalog }: AskOptions, id: string): string {
  return `${catalogPath(catalog)}/merges/${encodeURIComponent(id)}`;
}

export function api({ url }: AskOptions): ApiClient {
  return new ApiClient(serviceUrl(url));
}
