import type { Catalogs } from '../catalog/catalogs.ts';
import { type DeadRewards, deadRewards } from './dead-rewards.ts';
import type { RewardHealth } from './health-report.ts';
import { type RewardSources, rewardHealth } from './reward-health.ts';
import type { RewardIntake } from './reward-intake.ts';
import type { RewardReport, RewardResult } from './reward-report.ts';
import { type RewardState, rewardStatus } from './reward-status.ts';

/** Rewards: reported, and looked after until they are learned. */
export class Rewards {
  readonly #catalogs: Catalogs;
  readonly #intake: RewardIntake;
  readonly #sources: RewardSources;

  constructor(catalogs: Catalogs, intake: RewardIntake, sources: RewardSources) {
    this.#catalogs = catalogs;
    this.#intake = intake;
    this.#sources = sources;
  }

  /** One result per report, in order. */
  report(reports: readonly RewardReport[]): Promise<RewardResult[]> {
    return this.#intake.report(reports);
  }

  /** @throws Problem reward-not-found */
  status(rewardId: string): Promise<RewardState> {
    return rewardStatus(rewardId, this.#catalogs, this.#sources);
  }

  /** @throws Problem catalog-not-found */
  health(catalog: string): Promise<RewardHealth> {
    return this.#catalogs.holding(catalog, (open) => rewardHealth(open, this.#sources));
  }

  /** Those that were given up, newest first. */
  dead(limit: number): Promise<DeadRewards[]> {
    return deadRewards(this.#sources.queue, limit);
  }

  /** Puts them back with all their attempts before them, all of them if no ids are given; answers how many. */
  redrive(ids?: readonly string[]): Promise<number> {
    return this.#sources.queue.redrive(ids);
  }
}
