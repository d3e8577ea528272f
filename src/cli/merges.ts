import { createInterface, type Interface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { SingleBar } from 'cli-progress';
import { Command, InvalidArgumentError, Option } from 'commander';
import { MERGE_STATUSES, type MergeStatus, type ProposedMerge } from '../ledger/merge-definition.ts';
import type { MergeRunOpen } from '../ledger/merge-run.ts';
import { ApiClient, catalogPath } from './api-client.ts';
import { actorOf, actorOption } from './instructions.ts';
import { type AskOptions, asking, serviceUrl } from './options.ts';
import { counted, print, sentence, table, UserError } from './terminal.ts';

const LOOK_EVERY_MS = 300;

/** A merge as the service lists it. */
interface ListedMerge extends Omit<ProposedMerge, 'members'> {
  readonly members: readonly string[];
  readonly status: MergeStatus;
  readonly digest: string;
  readonly actor?: string;
  readonly why?: string;
}

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
  sub('propose', 'look for tools that do the same')
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
  readonly all?: true;
  readonly judge?: 'rules' | 'chat';
  readonly threshold?: number;
  readonly autoApprove?: number;
  readonly cancel?: true;
}

async function propose({
  all,
  judge,
  threshold,
  autoApprove,
  cancel,
  ...options
}: ProposeOptions): Promise<void> {
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
  print(options.json, merge, `${mergeText(merge)}${JSON.stringify(merge.definition, null, 2)}\n`);
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
  if (options.json) return print(true, { merges }, '');
  if (merges.length === 0) {
    process.stdout.write('Nothing waits for a decision. Look for merges with `bandolier merges propose`.\n');
    return;
  }
  if (!process.stdin.isTTY) {
    for (const merge of merges) process.stdout.write(`${mergeText(merge)}\n`);
    process.stdout.write('Decide with `bandolier merges approve <id>` or `bandolier merges reject <id>`.\n');
    return;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  // Ctrl-C and Ctrl-D end the review as `q` does; what was decided stays.
  terminal.on('SIGINT', () => terminal.close());
  const lines = terminal[Symbol.asyncIterator]();
  try {
    for (const [at, merge] of merges.entries()) {
      process.stdout.write(`\n${at + 1} of ${merges.length}\n${mergeText(merge)}`);
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

/** A merge for whoever decides: what it does, why, and what speaks against it. */
function mergeText(merge: ListedMerge): string {
  const { id, status, representative, members, confidence, evidence, tokensSaved, guarded, mappings, why } =
    merge;
  const { similarity, judge, reason, outcomes = [], notes = [] } = evidence;
  const renamed = members.flatMap((name) => {
    const { arguments: names = {}, absent = [] } = mappings[name] ?? {};
    const other = Object.entries(names).filter(([united, own]) => united !== own);
    return [
      ...other.map(([united, own]) => `  ${name} calls ${united} ${own}`),
      ...absent.map((united) => `  ${name} has no ${united}`),
    ];
  });
  const similar = similarity === null ? '' : `, cosine ${similarity.least.toFixed(2)} at least`;
  return `${[
    `${id} (${status}): ${representative} in place of ${others(members, representative)}`,
    `  ${sentence(inOneLine(reason))} (${judge}, confidence ${confidence.toFixed(2)}${similar})`,
    `  It saves ${counted(tokensSaved, 'token')}.`,
    ...(guarded === undefined ? [] : [`  Look closely: ${guarded}`]),
    ...outcomes.map(
      ({ pair, confused }) => `  ${pair.join(' and ')} were taken for each other ${confused} times.`,
    ),
    ...notes.map((note) => `  ${sentence(inOneLine(note))}`),
    ...(why === undefined ? [] : [`  ${why}`]),
    ...renamed,
  ].join('\n')}\n`;
}

/** What a model wrote may hold orders to terminals. */
function inOneLine(text: string): string {
  return text.replace(/[\p{Cc}\s]+/gu, ' ');
}

const MOST_NAMED = 5;

function others(members: readonly string[], representative: string): string {
  const names = members.filter((name) => name !== representative);
  const rest = names.length - MOST_NAMED;
  return `${names.slice(0, MOST_NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
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

function mergePath({ catalog }: AskOptions, id: string): string {
  return `${catalogPath(catalog)}/merges/${encodeURIComponent(id)}`;
}

function api({ url }: AskOptions): ApiClient {
  return new ApiClient(serviceUrl(url));
}
