import { setTimeout as wait } from 'node:timers/promises';
import { randomFor } from '../../bandit/random.ts';
import { CAREFUL_AGENT, conductOf } from '../simulation/agent.ts';
import { shuffled } from '../simulation/catalog-changes.ts';
import type { ApiClient } from './api-client.ts';

/** A query and the tools that fit it. */
export interface DemoQuery {
  readonly id: string;
  readonly query: string;
  readonly relevant: readonly string[];
}

/** One query, asked without exploration, and what came back. */
export interface Measurement {
  readonly query: DemoQuery;
  readonly decisionId: string;
  readonly slate: readonly string[];
  /** Share of the fitting tools that are in the slate. */
  readonly recall: number;
}

interface Slate {
  readonly decisionId: string;
  readonly tools: readonly { readonly name: string }[];
}

interface Reward {
  readonly decisionId: string;
  readonly tool: string;
  readonly outcome: 'success' | 'failure';
}

const K = 5;
/** Outcomes arrive this many decisions later, on average. */
const AGENT = { ...CAREFUL_AGENT, delay: 10 };

/** Asks every query greedily; nothing is learned from it. */
export async function measure(
  api: ApiClient,
  catalog: string,
  queries: readonly DemoQuery[],
): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const query of queries) {
    const request = { query: query.query, catalog, k: K, format: 'names', explore: false, learn: false };
    const { decisionId, tools } = await api.post<Slate>('/v1/route', request);
    const slate = tools.map(({ name }) => name);
    measurements.push({ query, decisionId, slate, recall: recallOf(query, slate) });
  }
  return measurements;
}

/**
 * Plays the queries in a seeded order and reports outcomes when they are due. Every reward is learned before the
 * next query is asked, and decisions are named by key: the same seed, the same run.
 *
 * @returns recall per query, in the order in which they were asked.
 */
export async function playQueries(
  api: ApiClient,
  catalog: string,
  queries: readonly DemoQuery[],
  seed: number,
  onStep: () => void,
): Promise<number[]> {
  const recalls: number[] = [];
  const due = new Map<number, Reward[]>();
  for (const [step, query] of shuffled(queries, `demo/${seed}`).entries()) {
    await report(api, catalog, due.get(step) ?? []);
    due.delete(step);
    const request = { query: query.query, catalog, k: K, format: 'names' };
    const { decisionId, tools } = await api.post<Slate>('/v1/route', request, {
      idempotencyKey: `demo-${seed}-${step}`,
    });
    const slate = tools.map(({ name }) => name);
    recalls.push(recallOf(query, slate));
    const random = randomFor(`demo/${seed}/${step}`);
    const { calls, delay } = conductOf(slate, new Set(query.relevant), AGENT, random);
    const rewards = calls.map(({ tool, success }): Reward => {
      return { decisionId, tool, outcome: success ? 'success' : 'failure' };
    });
    const at = step + 1 + (delay ?? 0);
    due.set(at, [...(due.get(at) ?? []), ...rewards]);
    onStep();
  }
  await report(api, catalog, [...due.values()].flat());
  return recalls;
}

async function report(api: ApiClient, catalog: string, rewards: readonly Reward[]): Promise<void> {
  if (rewards.length === 0) return;
  await api.post('/v1/rewards', { rewards });
  const health = () => api.get<{ pending: number }>(`/v1/rewards/health?catalog=${catalog}`);
  while ((await health()).pending > 0) await wait(2);
}

function recallOf({ relevant }: DemoQuery, slate: readonly string[]): number {
  return relevant.filter((tool) => slate.includes(tool)).length / relevant.length;
}
