import { Command, InvalidArgumentError, Option } from 'commander';
import { MERGE_STATUSES, type MergeStatus } from '../ledger/merge-definition.ts';
import type { MergeRunOpen } from '../ledger/merge-run.ts';
import { catalogPath } from './api-client.ts';
import {
  type ActorOptions,
  all,
  api,
  DECISIONS,
  decide,
  definitionsOf,
  mergePath,
  review,
} from './decide-merges.ts';
import { followJob } from './follow-job.ts';
import { actorOf, actorOption } from './instructions.ts';
import { definitionsText, inOneLine, type ListedMerge, MOST_NAMED, mergeText, others } from './merge-text.ts';
import { type AskOptions, asking } from './options.ts';
import { counted, print, sentence, table, UserError } from './terminal.ts';

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
  const look = () => client.get<MergeList>(`${path}?limit=1`);
  let found = await look();
  const run = await followJob<ListedRun | null>(asked.run, async () => {
    found = await look();
    return found.run;
  });
  const { counts } = found;
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
