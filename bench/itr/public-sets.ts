import { LabelledSet } from '../labelled-set.ts';
import type { BenchInstruction } from './instructions.ts';
import type { Product, RouteQuestion } from './product.ts';

export interface SetResult {
  readonly set: string;
  readonly tools: number;
  readonly queries: number;
  readonly budget: number | null;
  readonly served: number;
  readonly monolithic: number;
  /** Share of the tokens of everything that is not sent. */
  readonly saved: number;
  readonly toolsShown: number;
  /** Mean share of the right tools that were served. */
  readonly recall: number;
}

/** Tools in one request. */
const LOT = 500;

const MOST_QUERIES = 300;

/** So many of them at most, evenly from all. */
function evenly<T>(all: readonly T[]): T[] {
  const step = Math.max(1, all.length / MOST_QUERIES);
  return Array.from({ length: Math.min(all.length, MOST_QUERIES) }, (_, at) => all[Math.floor(at * step)]);
}

/** Puts a public catalog with the bench's prompt into the service. Returns its queries, with their right tools. */
export async function putSet(
  product: Product,
  data: string,
  set: string,
  instructions: readonly BenchInstruction[],
): Promise<{ queries: readonly { text: string; relevant: readonly string[] }[]; tools: number }> {
  const labelled = new LabelledSet(data, set, null);
  const tools = (await labelled.tools()).map(({ tool }) => tool);
  await product.put(set, tools.slice(0, LOT), instructions);
  for (let from = LOT; from < tools.length; from += LOT) {
    const put = tools.slice(from, from + LOT);
    await product.ask('PATCH', `/v1/catalogs/${set}/tools`, { put }, set);
  }
  return { queries: evenly(await labelled.queries('test')), tools: tools.length };
}

/** What a request costs, and what it finds, without exploration and without anything learned. */
export async function askSet(
  product: Product,
  set: string,
  { queries, tools }: Awaited<ReturnType<typeof putSet>>,
  asked: Omit<RouteQuestion, 'query' | 'catalog'>,
): Promise<SetResult> {
  let [served, monolithic, shown, recall] = [0, 0, 0, 0];
  for (const [at, { text, relevant }] of queries.entries()) {
    const question = { ...asked, catalog: set, query: text, explore: false, instructions: true };
    const { answer } = await product.route(
      { ...question, assembly: 'prompt' },
      `${asked.tokenBudget}/${asked.k}/${at}`,
    );
    const names = new Set(answer.tools.map(({ name }) => name));
    served += answer.tokens!.total;
    monolithic += answer.tokens!.monolithic;
    shown += names.size;
    recall += relevant.filter((name) => names.has(name)).length / relevant.length;
  }
  const { length } = queries;
  return {
    ...{ set, tools, queries: length, budget: asked.tokenBudget ?? null, saved: 1 - served / monolithic },
    ...{
      served: served / length,
      monolithic: monolithic / length,
      toolsShown: shown / length,
      recall: recall / length,
    },
  };
}
