/**
 * What of a conversation is the query? Recall of the tools that each user turn needs, with the last turn alone,
 * with everything said so far, and with what conversation.ts takes from before. Only users speak in the public sets. In
 * the 300 conversations with the sample catalog, written by hand for this bench, assistants and tools do too, in three
 * shapes; a third of them was set aside before the rules were written, and is for the figure alone.
 *
 *   npx tsx bench/conversation.ts [--data ../shared/data] [--model <folder>] [--missed]
 *
 * The limits in conversation.ts were chosen on the parts marked "tuned on". --missed prints the conversations of these
 * whose tools were not found.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../config/package-root.ts';
import type { Embedder } from '../src/models/embedder.ts';
import { openModelFolder } from '../src/models/open-embedder.ts';
import { type ConversationQuery, conversationQuery, plainQuery } from '../src/queries/conversation.ts';
import { splitQuery } from '../src/queries/split-query.ts';
import { tokenise } from '../src/retrieval/tokenise.ts';
import { measuredOn } from './measured-on.ts';
import { type LabelledQuery, recallAt, SAMPLE, ToolSet } from './queries/tool-set.ts';
import {
  messagesOf,
  SHAPES,
  type WrittenTurn,
  writtenConversations,
} from './queries/written-conversations.ts';

const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    model: { type: 'string', default: join(packageRoot(), 'models', 'tool-static-256') },
    missed: { type: 'boolean', default: false },
  },
});

const PARTS = [
  { set: 'bfcl-multiturn', split: 'test', use: 'tuned on', from: 0, to: 0.5 },
  { set: 'bfcl-multiturn', split: 'test', use: 'test', from: 0.5, to: 1 },
  { set: 'api-bank', split: 'level1', use: 'tuned on', from: 0, to: 0.5 },
  { set: 'api-bank', split: 'level1', use: 'test', from: 0.5, to: 1 },
  { set: 'api-bank', split: 'level2', use: 'test', from: 0, to: 1 },
] as const;

type Method = (said: readonly string[]) => ConversationQuery;
const METHODS: Readonly<Record<string, Method>> = {
  'last turn alone': (said) => plainQuery(said[said.length - 1]),
  'everything said': (said) => plainQuery(said.join('\n')),
  'what it needs': (said) => conversationQuery(said.map((content) => ({ role: 'user', content })))!,
};

interface Row {
  readonly set: string;
  readonly use: string;
  readonly method: string;
  readonly turns: number;
  /** Share of the turns that bring something from before. */
  readonly withContext: number;
  readonly recall1: number;
  readonly recall5: number;
  readonly recall10: number;
}

async function measure(
  set: ToolSet,
  conversations: readonly LabelledQuery[],
  method: Method,
  embedder: Embedder,
) {
  const known = new Set(set.ids);
  let turns = 0;
  let withContext = 0;
  const recalls = [0, 0, 0];
  for (const conversation of conversations) {
    const said: string[] = [];
    for (const { query, relevant } of conversation.turns ?? []) {
      said.push(query);
      const wanted = [...new Set(relevant)].filter((id) => known.has(id));
      if (wanted.length === 0) continue;
      turns++;
      const asked = method(said);
      if (asked.text !== query) withContext++;
      const text = asked.searched;
      const [embedding] = await embedder.embedQueries([text]);
      const { candidates } = set.index.search({ embedding, tokens: tokenise(text), limit: 10 });
      const found = Array.from(candidates.slots, (slot) => set.ids[slot]);
      for (const [at, k] of [1, 5, 10].entries()) recalls[at] += recallAt(k, found, { relevant: wanted });
    }
  }
  const [recall1, recall5, recall10] = recalls.map((sum) => sum / turns);
  return { turns, withContext: withContext / turns, recall1, recall5, recall10 };
}

const WRITTEN_METHODS: Readonly<
  Record<string, (turns: readonly WrittenTurn[], at: number) => ConversationQuery>
> = {
  'last turn alone': (turns) => plainQuery(turns.findLast(([role]) => role === 'user')![1]),
  'everything said': (turns) => plainQuery(turns.map(([, text]) => text).join('\n')),
  'what it needs': (turns, at) => conversationQuery(messagesOf(turns, SHAPES[at % SHAPES.length]))!,
};

/** The written conversations, as they are routed: with the parts of the last turn and the thought of the agent. */
async function measureWritten(embedder: Embedder): Promise<Row[]> {
  const set = (await ToolSet.open('', SAMPLE, embedder))!;
  const rows: Row[] = [];
  for (const [part, use] of [
    ['tuned-on', 'tuned on'],
    ['kept-aside', 'kept aside'],
  ] as const) {
    const conversations = writtenConversations(part);
    for (const [method, queryOf] of Object.entries(WRITTEN_METHODS)) {
      let withContext = 0;
      const recalls = [0, 0, 0];
      for (const [at, { turns, relevant }] of conversations.entries()) {
        const asked = queryOf(turns, at);
        if (asked.text !== asked.turn) withContext++;
        const split = splitQuery(asked.turn);
        const parts = [
          ...(split.length > 1 ? split : []),
          ...(asked.thought === null ? [] : [asked.thought]),
        ];
        const texts = [asked.searched, ...parts];
        const embeddings = await embedder.embedQueries(texts);
        const [whole, ...others] = texts.map((text, i) => ({
          tokens: tokenise(text),
          embedding: embeddings[i],
        }));
        const { candidates } = set.index.search({ ...whole, parts: others, limit: 10 });
        const found = Array.from(candidates.slots, (slot) => set.ids[slot]);
        for (const [i, k] of [1, 5, 10].entries()) recalls[i] += recallAt(k, found, { relevant });
        if (
          options.missed &&
          use === 'tuned on' &&
          method === 'what it needs' &&
          recallAt(5, found, { relevant }) < 1
        )
          console.log(`missed ${relevant}: ${JSON.stringify(asked.searched)} → ${found.slice(0, 5)}`);
      }
      const [recall1, recall5, recall10] = recalls.map((sum) => sum / conversations.length);
      const turns = conversations.length;
      rows.push({
        set: SAMPLE,
        use,
        method,
        turns,
        withContext: withContext / turns,
        recall1,
        recall5,
        recall10,
      });
    }
  }
  set.free();
  return rows;
}

async function main(): Promise<void> {
  const embedder = await openModelFolder(options.model);
  const rows: Row[] = await measureWritten(embedder);
  for (const { set: name, split, use, from, to } of PARTS) {
    const set = await ToolSet.open(options.data, name, embedder);
    if (set === null) continue;
    const all = set.queries(split, Number.POSITIVE_INFINITY);
    const conversations = all.slice(Math.floor(all.length * from), Math.floor(all.length * to));
    for (const [method, query] of Object.entries(METHODS)) {
      rows.push({
        set: `${name} ${split}`,
        use,
        method,
        ...(await measure(set, conversations, query, embedder)),
      });
    }
    set.free();
  }
  await embedder.close();
  if (rows.every(({ set }) => set === SAMPLE)) {
    console.log(`No data sets in ${options.data} (option --data): only the sample catalog was measured.\n`);
  }
  console.log(
    '| set | use | query | turns | with context | Recall@1 | @5 | @10 |\n|---|---|---|--:|--:|--:|--:|--:|',
  );
  for (const { set, use, method, turns, withContext, recall1, recall5, recall10 } of rows) {
    const shares = [withContext, recall1, recall5, recall10].map((share) => share.toFixed(3));
    console.log(`| ${[set, use, method, turns, ...shares].join(' | ')} |`);
  }
  const folder = join(packageRoot(), 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const result = { ...measuredOn('npx tsx bench/conversation.ts'), model: basename(options.model), rows };
  writeFileSync(join(folder, 'conversation.json'), `${JSON.stringify(result, null, 2)}\n`);
}

await main();
