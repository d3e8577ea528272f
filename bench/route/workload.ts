import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import { splitQuery } from '../../src/queries/split-query.ts';
import { LabelledSet } from '../labelled-set.ts';

const SET = 'seal-tools';
const SPLITS = ['dev', 'test', 'test_in_domain'];

/** Tools and queries to measure with, and where they come from. */
export interface Workload {
  readonly source: string;
  /** All different. */
  readonly queries: readonly string[];
  /** Those that ask for one thing, and those that are taken apart and searched for part by part. */
  readonly oneNeed: readonly string[];
  readonly severalNeeds: readonly string[];
  readonly realTools: readonly ToolDefinition[];
  /** So many tools; where there are fewer real ones they are repeated under other names. */
  tools(count: number): ToolDefinition[];
}

/** The public set where it is present, else the sample catalog of the project. */
export async function readWorkload(data: string): Promise<Workload> {
  return existsSync(join(data, SET)) ? publicWorkload(data) : sampleWorkload();
}

async function publicWorkload(data: string): Promise<Workload> {
  const set = new LabelledSet(data, SET, null);
  const tools = (await set.tools()).map(({ tool }) => tool);
  const queries = (await Promise.all(SPLITS.map((split) => set.queries(split)))).flat();
  return workload(
    SET,
    tools,
    queries.map(({ text }) => text),
  );
}

async function sampleWorkload(): Promise<Workload> {
  const folder = new URL('../../examples/sample-catalog/', import.meta.url);
  const read = (name: string): Promise<string> => readFile(new URL(name, folder), 'utf8');
  const lines = `${await read('queries.learn.jsonl')}\n${await read('queries.unseen.jsonl')}`.split('\n');
  const queries = lines.filter((line) => line !== '').map((line): string => JSON.parse(line).query);
  return workload('sample catalog', JSON.parse(await read('tools.json')).tools, queries);
}

function workload(
  source: string,
  realTools: readonly ToolDefinition[],
  queries: readonly string[],
): Workload {
  const tool = (index: number): ToolDefinition => {
    const real = realTools[index % realTools.length];
    const copy = Math.floor(index / realTools.length);
    return copy === 0 ? real : { ...real, name: `${real.name}_${copy + 1}` };
  };
  const distinct = [...new Set(queries)];
  return {
    source,
    queries: distinct,
    oneNeed: distinct.filter((query) => splitQuery(query).length === 1),
    severalNeeds: distinct.filter((query) => splitQuery(query).length > 1),
    realTools,
    tools: (count) => Array.from({ length: count }, (_, index) => tool(index)),
  };
}

/** Hands out queries; from the second time round each is made another one by a number at its end. */
export function distinctQueries(queries: readonly string[]): () => string {
  let next = 0;
  return () => {
    const round = Math.floor(next / queries.length);
    const query = queries[next++ % queries.length];
    return round === 0 ? query : `${query} (${round})`;
  };
}

/** The same few over and over. */
export function repeatedQueries(queries: readonly string[], count: number): () => string {
  let next = 0;
  return () => queries[next++ % Math.min(count, queries.length)];
}
