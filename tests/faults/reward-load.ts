import { setTimeout as wait } from 'node:timers/promises';
import { randomFor } from '../../bandit/random.ts';
import type { RouteAnswer } from '../../src/routing/route-answer.ts';
import { type RunningService, until } from '../e2e/running-service.ts';
import { SHOP_TOOLS, Shop } from '../e2e/shop.ts';

const BATCH = 20;
const AGENTS = 4;
const RETRY_MS = 30;

export interface SentReport {
  readonly decisionId: string;
  readonly tool: string;
  /** A multiple of ¼, so that sums are exact. */
  readonly value: number;
  readonly more: true;
  readonly idempotencyKey: string;
}

/**
 * Agents that report through whichever router answers, and keep books of what they were promised: a tenth of the
 * reports are sent twice, a tenth are late, one in twenty is about a decision that nobody made.
 */
export class RewardLoad {
  /** Reports that were answered 202, by reward id; late ones apart. */
  readonly accepted = new Map<string, SentReport>();
  readonly late = new Map<string, SentReport>();
  /** Slates by decision, those in time only. */
  readonly slates = new Map<string, readonly string[]>();
  readonly statuses: Record<string, number> = {};
  sent = 0;
  readonly #routers: () => readonly RunningService[];
  readonly #catalog: string;
  readonly #random = randomFor('faults/reward-load');
  readonly #fresh: string[] = [];
  readonly #expired: string[] = [];
  readonly #recent: SentReport[] = [];
  #draws = 0;

  constructor(catalog: string, routers: () => readonly RunningService[]) {
    this.#catalog = catalog;
    this.#routers = routers;
  }

  /** Decisions to report on; some are late by the time this resolves. */
  async prepare(decisions: number): Promise<void> {
    const [router] = this.#routers();
    const shop = await Shop.open(router, this.#catalog, { rewards: { windowSeconds: 5 } });
    let deadline = 0;
    for (let n = 0; n < decisions / 8; n++) {
      const { decisionId, rewardDeadline } = await shop.route('where is it', { k: 3 });
      this.#expired.push(decisionId);
      deadline = Math.max(deadline, Date.parse(rewardDeadline));
    }
    await shop.configure({ rewards: { windowSeconds: 86_400 } });
    for (let n = 0; n < decisions; n++) {
      const { decisionId, tools }: RouteAnswer = await shop.route(`question ${n}`, { k: 3 });
      this.#fresh.push(decisionId);
      this.slates.set(
        decisionId,
        tools.map(({ name }) => name),
      );
    }
    await until(() => Date.now() > deadline);
  }

  /** Sends reports while `event` lasts, and at least so many. */
  async during(count: number, event: () => Promise<void>): Promise<void> {
    const end = this.sent + count;
    let isOver = false;
    const happening = event().finally(() => {
      isOver = true;
    });
    const agent = async (): Promise<void> => {
      while (!isOver || this.sent < end) {
        const reports = Array.from({ length: BATCH }, () => this.#report());
        this.sent += reports.length;
        await this.#deliver(reports);
      }
    };
    await Promise.all([happening, ...Array.from({ length: AGENTS }, agent)]);
  }

  /** A whole number from 0 to below `limit`. */
  draw(limit: number): number {
    return Math.floor(this.#random.uniform(this.#draws++) * limit);
  }

  #report(): SentReport {
    const die = this.draw(100);
    if (die < 10 && this.#recent.length > 0) return this.#recent[this.draw(this.#recent.length)];
    const decisionId = this.#decision(die);
    const report: SentReport = {
      decisionId,
      tool: SHOP_TOOLS[this.draw(SHOP_TOOLS.length)].name,
      value: (this.draw(9) - 4) / 4,
      more: true,
      idempotencyKey: `report-${this.#draws}`,
    };
    this.#recent.push(report);
    if (this.#recent.length > 500) this.#recent.shift();
    return report;
  }

  #decision(die: number): string {
    if (die < 20) return this.#expired[this.draw(this.#expired.length)];
    if (die < 25) return `${this.#catalog}.0nobody${this.draw(1e6)}`;
    return this.#fresh[this.draw(this.#fresh.length)];
  }

  /** Until somebody takes it. */
  async #deliver(reports: readonly SentReport[]): Promise<void> {
    for (;;) {
      const routers = this.#routers().filter(({ isAlive }) => isAlive);
      const router = routers[this.draw(routers.length)];
      const answer = await router
        ?.request<Answer>('POST', '/v1/rewards', { rewards: reports })
        .catch(() => undefined);
      if (answer?.status === 202) return this.#book(reports, answer.body.results);
      if (answer !== undefined && ![429, 503].includes(answer.status)) {
        throw new Error(`rewards were answered ${answer.status}: ${JSON.stringify(answer.body)}`);
      }
      await wait(RETRY_MS);
    }
  }

  #book(reports: readonly SentReport[], results: Answer['results']): void {
    for (const [at, { rewardId, status, code }] of results.entries()) {
      const report = reports[at];
      const kind = code ?? status ?? 'nothing';
      this.statuses[kind] = (this.statuses[kind] ?? 0) + 1;
      if (rewardId === undefined) continue;
      const book = this.#expired.includes(report.decisionId) ? this.late : this.accepted;
      book.set(rewardId, report);
    }
  }
}

interface Answer {
  readonly results: readonly { rewardId?: string; status?: string; code?: string }[];
}
