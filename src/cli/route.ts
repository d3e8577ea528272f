import { Command, Option } from 'commander';
import { MOST_UTC_OFFSET_MINUTES } from '../context/user-signals.ts';
import { ASSEMBLIES, type Assembly } from '../decisions/decision.ts';
import { SLATE_METHODS, type SlateMethod } from '../ledger/catalog-settings.ts';
import type { RouteAnswer } from '../routing/route-answer.ts';
import { ApiClient } from './api-client.ts';
import { beginningOf } from './instructions.ts';
import { type AskOptions, asking, serviceUrl, wholeNumber } from './options.ts';
import { print, table, UserError } from './terminal.ts';

export function routeCommand(): Command {
  return asking(new Command('route').description('ask for the tools that a query needs'))
    .argument('<query>', 'what a user wants')
    .option('--k <number>', 'how many tools', wholeNumber(1, 50), 5)
    .option('--user <id>', 'the user who asks: what this user has is looked through, too')
    .option('--place <name>', 'where the user is, for habits; with --user')
    .option(
      '--utc-offset <minutes>',
      "how far the user's clock is from UTC, for habits; with --user",
      wholeNumber(-MOST_UTC_OFFSET_MINUTES, MOST_UTC_OFFSET_MINUTES),
    )
    .option('--unit <id>', 'what experiments assign, and limits count by')
    .option('--greedy', 'try nothing out: rank by what is known')
    .option('--budget <tokens>', 'most tokens that all of it may take', wholeNumber(1, 10_000_000))
    .option('--instructions', 'also the instructions that are worth carrying')
    .addOption(
      new Option('--assembly <how>', 'prompt: print the system prompt; append needs a --session').choices(
        ASSEMBLIES,
      ),
    )
    .addOption(
      new Option('--slate <who>', 'toolscope: the best tool for each part of the query first').choices(
        SLATE_METHODS,
      ),
    )
    .option('--session <id>', 'the conversation that goes on')
    .addHelpText(
      'after',
      `
The decision is recorded like that of an agent. Without a reward it teaches nothing.

SCORE is the expected reward and a bonus for what is not known yet. The slate is drawn at random around it, so scores need not fall
from line to line (--greedy draws nothing). CHANCE is the probability with which the tool came into the slate. WHY: its text was
retrieved, it is remembered from similar queries, an item of the user was used with it, it is explored to learn about it, or it is pinned.

ITEM is what the user has that the query needs, and LIKELY how likely it is needed.

Examples:
  bandolier route "the customer wants their money back"
  bandolier route "where is my parcel" --k 3 --json | jq -r .decisionId
  bandolier route "put on something for my run" --user user-7 --place park --utc-offset 60
  bandolier route "where is my parcel" --budget 800 --instructions --assembly prompt`,
    )
    .action(route);
}

interface RouteOptions extends AskOptions {
  readonly k: number;
  readonly user?: string;
  readonly place?: string;
  readonly utcOffset?: number;
  readonly unit?: string;
  readonly greedy?: boolean;
  readonly budget?: number;
  readonly instructions?: boolean;
  readonly assembly?: Assembly;
  readonly slate?: SlateMethod;
  readonly session?: string;
}

async function route(query: string, options: RouteOptions): Promise<void> {
  if (options.user === undefined && (options.place ?? options.utcOffset) !== undefined) {
    throw new UserError('--place and --utc-offset are about a user: add --user <id>.');
  }
  const {
    catalog,
    k,
    user,
    place,
    utcOffset,
    unit,
    greedy,
    budget,
    instructions,
    assembly,
    slate: slateBy,
    session,
    url,
    json,
  } = options;
  // Names alone cost next to nothing.
  const format = budget === undefined && instructions !== true ? 'names' : 'mcp';
  const answer = await new ApiClient(serviceUrl(url)).post<RouteAnswer>('/v1/route', {
    ...{ query, catalog, k, format, explore: !greedy },
    ...(user !== undefined && { userId: user }),
    ...(place !== undefined && { place }),
    ...(utcOffset !== undefined && { utcOffsetMinutes: utcOffset }),
    ...(unit !== undefined && { unitId: unit }),
    ...(budget !== undefined && { tokenBudget: budget }),
    ...(instructions === true && { instructions }),
    ...(assembly !== undefined && { assembly }),
    ...(slateBy !== undefined && { slate: slateBy }),
    ...(session !== undefined && { sessionId: session }),
  });
  const rows = answer.tools.map(({ rank, name, score, propensity, reason }) => [
    ...[String(rank), name, score.toFixed(3), `${Math.round(propensity * 100)} %`, reason],
  ]);
  const slate = rows.length === 0 ? '' : table([['', 'TOOL', 'SCORE', 'CHANCE', 'WHY'], ...rows]);
  const fallback = answer.fallback === null ? [] : [`Not the usual ranking: ${answer.fallback}.`];
  const notes = [...fallback, ...(answer.notes ?? [])].map((note) => `${note}\n`).join('');
  if (!json && answer.prompt !== undefined) return void process.stdout.write(`${answer.prompt}\n`);
  print(
    json,
    answer,
    `${slate}${items(answer)}${spent(answer)}${notes}\nWhy: bandolier explain ${answer.decisionId}\n`,
  );
}

function items({ context }: RouteAnswer): string {
  if (context === undefined) return '';
  if (context.length === 0) return '\nOf what the user has nothing is likely enough to be needed.\n';
  const rows = context.map(({ id, score, text, reasons }) => [
    ...[id, score.toFixed(2), beginningOf(text), reasons.join(', ')],
  ]);
  return `\n${table([['ITEM', 'LIKELY', 'TEXT', 'WHY'], ...rows])}`;
}

function spent({ tokens, leftOut, costTokens, instructions = [] }: RouteAnswer): string {
  if (tokens === undefined) return '';
  const texts = instructions.map(({ id, tokens: cost, kind }) => [id, kind, String(cost)]);
  const dear = [
    ...(leftOut?.tools ?? []).map(
      ({ name, tokens: cost, brief }) => `${name} (${cost}${brief === undefined ? '' : `; brief ${brief}`})`,
    ),
    ...(leftOut?.instructions ?? []).map(({ id, tokens: cost }) => `${id} (${cost})`),
  ];
  return [
    ...(texts.length === 0 ? [] : ['\n', table([['INSTRUCTION', 'KIND', 'TOKENS'], ...texts])]),
    `\n${tokens.total} tokens; the whole catalog takes ${tokens.monolithic}. At the full price: ${costTokens?.full}.\n`,
    ...(dear.length === 0 ? [] : [`Left out for their cost: ${dear.join(', ')}\n`]),
  ].join('');
}
