/**
 * How much of a tool must be seen so that the right one is found among thousands? Figure 4 of the paper (Müller, Semantic
 * Context for Tool Orchestration, section 5.3): index only, names only, descriptions only, names and descriptions, from
 * 100 to 12,274 tools; by retrieval alone (top 1), and with a reasoning step that picks one of the five best.
 *
 *   npx tsx bench/conditions.ts [--data ../shared/data] [--model <folder>] [--groups 8]
 *
 *   BANDOLIER_CHAT_URL=https://api.openai.com/v1 BANDOLIER_CHAT_MODEL=… BANDOLIER_CHAT_KEY=… \
 *     npx tsx bench/conditions.ts [--chat-queries 100]
 *
 * Accuracy is the share of queries for which the one tool chosen is right. Where a query needs several, each is right;
 * the paper uses 100 queries, and does not say how it counts those.
 *
 * The reasoning step is played by two scripted pickers (bench/conditions/reasoning.ts): an oracle that knows the answer,
 * and one that counts words. Neither says what a language model does. One that is configured picks as well, zero-shot
 * with the paper's prompt: 100 queries in each of 35 rows, 3,500 requests.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Kernels } from '../bandit/kernels/kernels.ts';
import { packageRoot } from '../config/package-root.ts';
import type { ToolDefinition } from '../src/ledger/tool-definition.ts';
import type { Embedder } from '../src/models/embedder.ts';
import { openModelFolder } from '../src/models/open-embedder.ts';
import { denseText } from '../src/retrieval/document-text.ts';
import { tokenise } from '../src/retrieval/tokenise.ts';
import type { ToolIndex } from '../src/retrieval/tool-index.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { ChatModel } from './chat-model.ts';
import { pickByChat, pickByOracle, pickByWords, type Shortlisted } from './conditions/reasoning.ts';
import { CONDITIONS, type Condition, shownAs } from './conditions/shown-tools.ts';
import { type CatalogueQuery, indexOf, LargeCatalogue, rightTools } from './fireact/large-catalogue.ts';
import { measuredOn } from './measured-on.ts';

const SIZES = [100, 300, 1_000, 3_000, 10_000, Number.POSITIVE_INFINITY];
/** Tools that the reasoning step sees. */
const SHORTLIST = 5;
/** What the paper states of Figure 4, for about 10,000 tools shown by name and description. */
const PAPER = 'top 1 .75 (.80 with a judge), top 5 and Gemini 2.0 Flash “nearly .90”; index only 1 / tools';

const MEASURES = ['vectors1', 'vectors5', 'both1', 'both5', 'oracle', 'words', 'chat'] as const;
type Measure = (typeof MEASURES)[number];

interface Row {
  readonly condition: Condition;
  readonly tools: number;
  readonly queries: number;
  /** Share of right choices: of the best tool by vectors or by both words and vectors (1), of any of the five best (5), of the pickers. */
  readonly accuracy: Readonly<Partial<Record<Measure, number>>>;
}

/** A tool as it is seen, and its vector. */
interface SeenTool {
  readonly id: string;
  readonly tool: ToolDefinition;
  readonly embedding: Float32Array;
}

class Accuracy {
  readonly #sums = new Map<Measure, { right: number; asked: number }>();
  queries = 0;

  count(measure: Measure, isRight: boolean): void {
    const sum = this.#sums.get(measure) ?? { right: 0, asked: 0 };
    this.#sums.set(measure, { right: sum.right + (isRight ? 1 : 0), asked: sum.asked + 1 });
  }

  shares(): Partial<Record<Measure, number>> {
    return Object.fromEntries([...this.#sums].map(([measure, { right, asked }]) => [measure, right / asked]));
  }
}

interface BenchParts {
  readonly kernels: Kernels;
  readonly embedder: Embedder;
  readonly catalogue: LargeCatalogue;
  /** Null: none is configured. */
  readonly chat: ChatModel | null;
  /** How many queries of each row the chat model is asked. */
  readonly chatQueries: number;
}

class Bench {
  readonly #parts: BenchParts;

  constructor(parts: BenchParts) {
    this.#parts = parts;
  }

  /** One row for each size of the catalog, and one for all queries and tools. */
  async rows(condition: Condition, groups: readonly CatalogueQuery[][]): Promise<Row[]> {
    const seen = await this.#seenTools(condition);
    const rows: Row[] = [];
    for (const size of SIZES) rows.push(await this.#row(condition, size, groups, seen));
    rows.push(await this.#row(condition, Number.POSITIVE_INFINITY, [this.#parts.catalogue.queries], seen));
    return rows;
  }

  async #seenTools(condition: Condition): Promise<Map<string, SeenTool>> {
    const tools = this.#parts.catalogue.tools.map(({ tool }, at) => shownAs(condition, tool, at + 1));
    const embeddings = await this.#parts.embedder.embedDocuments(tools.map(denseText));
    return new Map(
      this.#parts.catalogue.tools.map(({ id }, at) => [
        id,
        { id, tool: tools[at], embedding: embeddings[at] },
      ]),
    );
  }

  async #row(
    condition: Condition,
    size: number,
    groups: readonly (readonly CatalogueQuery[])[],
    seen: ReadonlyMap<string, SeenTool>,
  ): Promise<Row> {
    const accuracy = new Accuracy();
    let count = 0;
    for (const group of groups) {
      const tools = this.#parts.catalogue.catalogOf(size, group).map(({ id }) => seen.get(id)!);
      const [index, vectors] = indexOf(tools, this.#parts.kernels, this.#parts.embedder.dimensions);
      for (const query of group) await this.#ask(query, tools, index, accuracy);
      index.free();
      vectors.free();
      count = tools.length;
    }
    return { condition, tools: count, queries: accuracy.queries, accuracy: accuracy.shares() };
  }

  async #ask(
    labelled: CatalogueQuery,
    tools: readonly SeenTool[],
    index: ToolIndex,
    accuracy: Accuracy,
  ): Promise<void> {
    const { query } = labelled;
    const right = rightTools(labelled);
    const [embedding] = await this.#parts.embedder.embedQueries([query]);
    const found = (tokens: Uint32Array): SeenTool[] => {
      const { candidates } = index.search({ embedding, tokens, limit: SHORTLIST });
      return Array.from(candidates.slots, (slot) => tools[slot]);
    };
    const isRight = ({ id }: SeenTool): boolean => right.has(id);
    const vectors = found(new Uint32Array(0));
    const both = found(tokenise(query));
    accuracy.count('vectors1', isRight(vectors[0]));
    accuracy.count('vectors5', vectors.some(isRight));
    accuracy.count('both1', isRight(both[0]));
    accuracy.count('both5', both.some(isRight));
    const shortlisted: Shortlisted = {
      query,
      tools: both.map(({ tool }) => tool),
      right: both.findIndex(isRight),
    };
    accuracy.count('oracle', isRight(both[pickByOracle(shortlisted)]));
    accuracy.count('words', isRight(both[pickByWords(shortlisted)]));
    const { chat, chatQueries } = this.#parts;
    if (chat !== null && accuracy.queries < chatQueries) {
      const picked = await pickByChat(chat, shortlisted);
      accuracy.count('chat', picked >= 0 && isRight(both[picked]));
    }
    accuracy.queries++;
  }
}

function printed({ condition, tools, queries, accuracy }: Row): string {
  const cells = MEASURES.map((measure) => accuracy[measure]?.toFixed(3) ?? '');
  return `| ${[condition, tools, queries, ...cells].join(' | ')} |`;
}

async function main(): Promise<void> {
  const { values: options } = parseArgs({
    options: {
      data: { type: 'string', default: '../shared/data' },
      model: { type: 'string', default: join(packageRoot(), 'models', 'tool-static-256') },
      groups: { type: 'string', default: '8' },
      'chat-queries': { type: 'string', default: '100' },
    },
  });
  const catalogue = await LargeCatalogue.read(options.data);
  if (catalogue === null) {
    console.log(`No xlam-toolret in ${options.data} (option --data): nothing to measure.`);
    return;
  }
  const embedder = await openModelFolder(options.model);
  const chat = ChatModel.configured(process.env);
  const kernels = await loadKernels();
  const chatQueries = Number(options['chat-queries']);
  const bench = new Bench({ kernels, embedder, catalogue, chat, chatQueries });
  const groups = catalogue.groups(Number(options.groups));
  const chatColumn = chat === null ? '(no chat model)' : `top 5 + ${chat.name}`;
  console.log(`Accuracy; the last row of each condition asks every query. Paper: ${PAPER}\n`);
  console.log(
    `| | tools | queries | vectors: top 1 | in 5 | words and vectors: top 1 | in 5 | top 5 + oracle | top 5 + shared words | ${chatColumn} |`,
  );
  console.log(`|---|--:|--:|${'--:|'.repeat(MEASURES.length)}`);
  const rows: Row[] = [];
  for (const condition of CONDITIONS) {
    for (const row of await bench.rows(condition, groups)) {
      rows.push(row);
      console.log(printed(row));
    }
  }
  await embedder.close();
  const folder = join(packageRoot(), 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const report = {
    ...measuredOn('npx tsx bench/conditions.ts'),
    model: basename(options.model),
    paper: PAPER,
    rows,
  };
  const bundled = basename(options.model) === 'tool-static-256';
  const file = `conditions${bundled ? '' : `-${basename(options.model)}`}${chat === null ? '' : '-chat'}.json`;
  writeFileSync(join(folder, file), `${JSON.stringify(report, null, 2)}\n`);
}

await main();
