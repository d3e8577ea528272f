import { createInterface, type Interface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { SingleBar } from 'cli-progress';
import { Command, InvalidArgumentError, Option } from 'commander';
import { MERGE_STATUSES, type MergeStatus } from '../ledger/merge-definition.ts';
import type { MergeRunOpen } from '../ledger/merge-run.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { ApiClient, ApiProblem, catalogPath } from './api-client.ts';
import { actorOf, actorOption } from './instructions.ts';
import { definitionsText, inOneLine, type ListedMerge, MOST_NAMED, mergeText, others } from './merge-text.ts';
import { type AskOptions, asking, serviceUrl } from './options.ts';
import { counted, print, sentence, table, UserError } from './terminal.ts';

const LOOK_EVERY_MS = 300;

interface ListedRun {
  readonly id: string;
  readonly status: string;
  readonly progress: number;
  readonly judged: number;
  readonly proposals: number;
  readonly endedAt: string | null;
  readonly error?: string;
  readonly open?: MergeRunOpen;
}

interface MergeList {
  readonly merges: readonly ListedMerge[];
  readonly counts: Readonly<Record<MergeStatus, number>>;
  readonly run: ListedRun | null;
}

interface ActorOptions extends AskOptions {
  readonly actor?: string;
}

export function mergesCommand(): Command {
  const command = new Command('merges').description('find tools that do the same, and serve them as one');
  const sub = (name: string, description: string): Command =>
    asking(command.command(name).description(description));
  sub('propose', 'look for tools that do the same; with names of tools: propose to serve these as one')
    .argument('[tools...]')
    .option('--name <tool>', 'which of the named tools they are served as; default: the shortest name')
    .option('--all', 'also compare pairs that were compared before')
    .addOption(
      new Option('--judge <judge>', 'who compares them; default: what the catalog is set to').choices([
        'rules',
        'chat',
      ]),
    )
    .option('--threshold <number>', 'least cosine of tools that are compared', share)
    .option('--auto-approve <number>', 'approve merges of at least this confidence that do no harm', share)
    .option('--cancel', 'stop the run that is under way')
    .addOption(actorOption)
    .action(propose);
  sub('list', 'merges, the surest first')
    .addOption(new Option('--status <status>', 'only these').choices(MERGE_STATUSES))
    .action(list);
  sub('look-alikes', 'tools that look as if they did the same, and why they do not').action(lookAlikes);
  sub('show', 'one merge with its evidence, and what is served').argument('<id>').action(show);
  sub('review', 'go through what is proposed, one after the other').addOption(actorOption).action(review);
  for (const [name, description] of DECISIONS) {
    sub(name, description)
      .argument('<ids...>')
      .addOption(actorOption)
      .action((ids, options) => decide(name, ids, options));
  }
  return command.addHelpText(
    'after',
    `
Examples:
  bandolier merges propose
  bandolier merges review
  bandolier merges propose get_weather weather_current --name get_weather
  bandolier merges list --status approved
  bandolier merges undo m_0f3a5c7e9b1d2f48`,
  );
}

type Decision = 'approve' | 'reject' | 'undo';

const DECISIONS: readonly (readonly [Decision, string])[] = [
  ['approve', 'serve the tools of these merges as one'],
  ['reject', 'do not merge them; they are not proposed again until one of the tools changes'],
  ['undo', 'serve the tools of approved merges as they were put again'],
];

const DONE: Readonly<Record<Decision, string>> = {
  approve: 'approved',
  reject: 'rejected',
  undo: 'undone',
};

function share(text: string): number {
  const value = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('It has to be a number from 0 to 1.');
}

interface ProposeOptions extends ActorOptions {
  readonly name?: string;
  readonly all?: true;
  readonly judge?: 'rules' | 'chat';
  readonly threshold?: number;
  readonly autoApprove?: number;
  readonly cancel?: true;
}

async function propose(tools: readonly string[], { name, ...asked }: ProposeOptions): Promise<void> {
  if (tools.length > 0) return proposeOwn(tools, name, asked);
  if (name !== undefined) throw new UserError('`--name` is for tools that are named: name them as well.');
  await lookFor(asked);
}

async function proposeOwn(
  tools: readonly string[],
  name: string | undefined,
  { catalog, url, json, actor, ...rest }: Omit<ProposeOptions, 'name'>,
): Promise<void> {
  if (Object.values(rest).some((value) => value !== undefined))
    throw new UserError('Name tools to propose one merge, or say how to look for others, not both.');
  const options = { catalog, url, json, ...(actor !== undefined && { actor }) } as ActorOptions;
  const merge = await api(options).post<ListedMerge>(`${catalogPath(catalog)}/merges`, {
    ...{ tools, actor: actorOf(options) },
    ...(name !== undefined && { name }),
  });
  const next = `Serve them as one with \`bandolier merges approve ${merge.id}\`.\n`;
  print(json, merge, `${mergeText(merge)}${next}`);
}

async function lookFor({
  all,
  judge,
  threshold,
  autoApprove,
  cancel,
  ...options
}: Omit<ProposeOptions, 'name'>): Promise<void> {
  const client = api(options);
  const path = `${catalogPath(options.catalog)}/merges`;
  if (cancel) {
    await client.delete(`${path}/run?actor=${encodeURIComponent(actorOf(options))}`);
    const { run } = await client.get<MergeList>(`${path}?limit=1`);
    return print(options.json, run, 'The run is cancelled; what it had proposed stays.\n');
  }
  const body = {
    ...{ actor: actorOf(options), touched: all ? 'all' : 'changed' },
    ...(judge !== undefined && { judge }),
    ...(threshold !== undefined && { threshold }),
    ...(autoApprove !== undefined && { autoApprove }),
  };
  const asked = await client.post<{ run: ListedRun }>(`${path}/propose`, body);
  const bar = new SingleBar({ format: ' {bar} {percentage} %, {eta_formatted} left', noTTYOutput: false });
  bar.start(1, 0);
  let found: MergeList;
  try {
    for (;;) {
      found = await client.get<MergeList>(`${path}?limit=1`);
      if (found.run?.id !== asked.run.id || found.run.endedAt !== null) break;
      bar.update(found.run.progress);
      await wait(LOOK_EVERY_MS);
    }
  } finally {
    bar.stop();
  }
  const { run, counts } = found;
  if (run?.id !== asked.run.id)
    throw new UserError('Another run has begun since: see `bandolier merges list`.');
  print(options.json, { run, counts }, runText(run, counts));
  if (run.status !== 'succeeded') process.exitCode = 1;
}

function runText({ status, judged, error, open }: ListedRun, counts: MergeList['counts']): string {
  if (status !== 'succeeded')
    return `The run ${status === 'failed' ? 'has failed' : 'was cancelled'}. ${error ?? ''}`
      .trimEnd()
      .concat('\n');
  const next = counts.proposed === 0 ? '' : ' Look at them with `bandolier merges review`.';
  const left =
    open === undefined
      ? ''
      : ` The judge left ${open.undecided} of them and their groups undecided: ${sentence(inOneLine(open.reason))}${open.spent === undefined ? '' : ` It was asked ${counted(open.spent.requests, 'time')}.`}`;
  return `${counted(judged, 'pair')} compared.${left} ${counted(counts.proposed, 'merge')} wait${counts.proposed === 1 ? 's' : ''} for a decision, ${counts.approved} ${counts.approved === 1 ? 'is' : 'are'} approved.${next}\n`;
}

async function list({ status, ...options }: AskOptions & { readonly status?: MergeStatus }): Promise<void> {
  const merges = await all(options, status);
  const rows = merges.map(({ id, status, confidence, tokensSaved, representative, members }) => [
    ...[id, status, confidence.toFixed(2), String(tokensSaved), representative],
    others(members, representative),
  ]);
  const none = `Catalog ${options.catalog} has no ${status === undefined ? '' : `${status} `}merges. Look for some with \`bandolier merges propose\`.\n`;
  const text = table([['ID', 'STATUS', 'CONFIDENCE', 'TOKENS SAVED', 'SERVED AS', 'IN PLACE OF'], ...rows]);
  print(options.json, { merges }, merges.length === 0 ? none : text);
}

interface ListedLookAlike {
  readonly pair: readonly string[];
  readonly relation: string;
  readonly reason: string;
}

async function lookAlikes(options: AskOptions): Promise<void> {
  const path = `${catalogPath(options.catalog)}/merges/run`;
  const { lookAlikes: found } = await api(options).get<{ lookAlikes: readonly ListedLookAlike[] }>(path);
  const rows = found.map(({ pair, relation, reason }) => [...pair, relation, inOneLine(reason)]);
  const none = 'No tools are known that only look alike. Look for some with `bandolier merges propose`.\n';
  const text = table([['TOOL', 'LOOKS LIKE', 'BUT IS', 'SINCE'], ...rows]);
  print(options.json, { lookAlikes: found }, found.length === 0 ? none : text);
}

async function show(id: string, options: AskOptions): Promise<void> {
  const merge = await api(options).get<ListedMerge>(mergePath(options, id));
  const definitions = await definitionsOf(options, merge, options.json ? undefined : MOST_NAMED);
  const text = `${mergeText(merge)}${definitionsText(merge, definitions)}${JSON.stringify(merge.definition, null, 2)}\n`;
  print(options.json, { ...merge, definitions }, text);
}

async function decide(decision: Decision, ids: readonly string[], options: ActorOptions): Promise<void> {
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
async function review(options: ActorOptions): Promise<void> {
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

async function all(options: AskOptions, status?: MergeStatus): Promise<ListedMerge[]> {
  const path = `${catalogPath(options.catalog)}/merges?limit=1000${status === undefined ? '' : `&status=${status}`}`;
  const merges: ListedMerge[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: MergeList & { readonly nextCursor: string | null } = await api(options).get(
      cursor === '' ? path : `${path}&cursor=${cursor}`,
    );
    merges.push(...page.merges);
    cursor = page.nextCursor;
  }
  return merges;
}

/** Returns the definitions of the members as they were put, by name, of the first `most` of them; those that are gone are missing. */
async function definitionsOf(
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

function mergePath({ catalog }: AskOptions, id: string): string {
  return `${catalogPath(catalog)}/merges/${encodeURIComponent(id)}`;
}

function api({ url }: AskOptions): ApiClient {
  return new ApiClient(serviceUrl(url));
}
