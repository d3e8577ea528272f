import { randomFor } from '../../bandit/random.ts';
import type { RouteAnswer } from '../../src/routing/route-answer.ts';
import type { RunningService } from '../e2e/running-service.ts';
import { SHOP_TOOLS } from '../e2e/shop.ts';

const QUERIES = [
  'the parcel never came',
  'give them their money back',
  'the customer moved to another street',
  'we are out of blue mugs',
  'tell everybody about the sale',
  'what did we sell in march',
];
const BATCH = 20;

interface Report {
  readonly decisionId: string;
  readonly tool: string;
  /** A multiple of ¼, so that sums are exact. */
  readonly value: number;
  readonly more: true;
  readonly idempotencyKey: string;
}

/**
 * Agents that route, report and change tools, a few at a time, and keep books of what they were promised. Whatever
 * was sent without an answer is sent again, with the same key, to the next process.
 */
export class ShopLoad {
  /** Reports that were answered 202, by reward id. */
  readonly accepted = new Map<string, Report>();
  readonly decisions = new Map<string, readonly string[]>();
  /** Tools that were put (true) or removed (false), as far as was answered. */
  readonly putTools = new Map<string, boolean>();
  answers = 0;
  #unanswered: (readonly Report[])[] = [];
  #draws = 0;
  readonly #random = randomFor('faults/shop-load');

  /** Sends requests until one is not answered any more. @throws Error on an answer that is no success. */
  async run(service: RunningService, agents: number): Promise<void> {
    await this.sendAgain(service);
    await Promise.all(Array.from({ length: agents }, (_, agent) => this.#agent(service, `tool-${agent}`)));
  }

  /** Sends what was not answered. */
  async sendAgain(service: RunningService): Promise<void> {
    const batches = this.#unanswered;
    this.#unanswered = [];
    await Promise.all(batches.map((reports) => this.#report(service, reports)));
  }

  /** A whole number from 0 to below `limit`. */
  draw(limit: number): number {
    return Math.floor(this.#random.uniform(this.#draws++) * limit);
  }

  async #agent(service: RunningService, tool: string): Promise<void> {
    for (let isAnswered = true; isAnswered; ) {
      const die = this.draw(10);
      if (die < 4 || this.decisions.size < 5) isAnswered = await this.#route(service);
      else if (die < 9) isAnswered = await this.#report(service, this.#someReports());
      else isAnswered = await this.#changeTool(service, tool);
    }
  }

  async #route(service: RunningService): Promise<boolean> {
    const body = { query: QUERIES[this.draw(QUERIES.length)], k: 1 + this.draw(5) };
    const answer = await this.#send<RouteAnswer>(service, 'POST', '/v1/route', body);
    if (answer !== null)
      this.decisions.set(
        answer.decisionId,
        answer.tools.map(({ name }) => name),
      );
    return answer !== null;
  }

  #someReports(): Report[] {
    const ids = [...this.decisions.keys()];
    return Array.from({ length: 1 + this.draw(BATCH) }, () => ({
      decisionId: ids[this.draw(ids.length)],
      tool: SHOP_TOOLS[this.draw(SHOP_TOOLS.length)].name,
      value: (this.draw(9) - 4) / 4,
      more: true,
      idempotencyKey: `report-${this.#draws}`,
    }));
  }

  async #report(service: RunningService, reports: readonly Report[]): Promise<boolean> {
    const answer = await this.#send<Results>(service, 'POST', '/v1/rewards', { rewards: reports });
    if (answer === null) {
      this.#unanswered.push(reports);
      return false;
    }
    for (const [at, { rewardId, status }] of answer.results.entries()) {
      if (status !== 'queued' && status !== 'duplicate') throw new Error(`a reward is ${status}`);
      this.accepted.set(rewardId, reports[at]);
    }
    return true;
  }

  async #changeTool(service: RunningService, name: string): Promise<boolean> {
    const isThere = this.putTools.get(name) ?? false;
    const definition = { name, description: `Number ${this.#draws}`, inputSchema: {} };
    const change = isThere && this.draw(2) === 0 ? { remove: [name] } : { put: [definition] };
    this.putTools.delete(name);
    const answer = await this.#send(service, 'PATCH', '/v1/catalogs/default/tools', change);
    if (answer !== null) this.putTools.set(name, 'put' in change);
    return answer !== null;
  }

  /** Null when there was no answer, or none but that the process is about to end. */
  async #send<Body>(
    service: RunningService,
    method: string,
    path: string,
    content: unknown,
  ): Promise<Body | null> {
    const answer = await service.request<Body>(method, path, content).catch(() => null);
    if (answer === null || isShuttingDown(answer)) return null;
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    this.answers++;
    return answer.body;
  }
}

function isShuttingDown({ status, body }: { status: number; body: unknown }): boolean {
  return status === 503 && (body as { code: string }).code === 'shutting-down';
}

interface Results {
  readonly results: readonly { readonly rewardId: string; readonly status: string }[];
}
