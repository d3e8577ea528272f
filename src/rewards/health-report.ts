import type { RewardHour } from '../state/reward-statistics.ts';

/** Whether the rewards of the last 24 hours look as they should. */
export interface RewardHealth {
  readonly catalog: string;
  /** Accepted here and not yet folded, in jobs and entries; 0 when everything has taken effect. */
  readonly pending: number;
  readonly decisions: {
    /** Routed in the last 24 hours, by whatever process. */
    readonly routed: number;
    /** Decisions that got a first report in that time. */
    readonly rewarded: number;
    /** rewarded / routed; null when nothing was routed. */
    readonly share: number | null;
  };
  readonly reports: RewardHour['statuses'] & {
    readonly unknownDecision: number;
    /** Outcomes that were counted and not learned, because their unit had reached its limit for the tool in that hour. */
    readonly overUnitLimit: number;
  };
  /** Reports that were not learned, or only in part, by why: reasons of rewards, and codes of problems. */
  readonly unlearned: Readonly<Record<string, number>>;
  readonly outcomes: RewardHour['outcomes'];
  readonly value: { readonly mean: number | null; readonly standardDeviation: number | null };
  /** Seconds from decision to report: upper end of the class in which the quantile falls; null without reports. */
  readonly delaySeconds: { readonly p50: number | null; readonly p95: number | null };
  /** From decision to outcome, of the reports that say when that was. */
  readonly outcomeDelaySeconds: { readonly p50: number | null; readonly p95: number | null };
  readonly ok: boolean;
  readonly alerts: readonly RewardAlert[];
}

export interface RewardAlert {
  readonly code:
    | 'few-rewards'
    | 'late-rewards'
    | 'expired-rewards'
    | 'unknown-decisions'
    | 'constant-rewards'
    | 'mostly-unknown'
    | 'rejected-rewards'
    | 'unit-limit';
  readonly observed: string;
  readonly likelyCause: string;
  readonly suggestedAction: string;
}

type Figures = Omit<RewardHealth, 'ok' | 'alerts'>;

/** Below this number shares are not judged. */
const ENOUGH = 50;
/** Fewer reports that were not learned raise no alert. */
const SOME = 5;

/** Returns what looks wrong, each with its likely cause and what to do. */
export function rewardAlerts(figures: Figures, windowSeconds: number): RewardAlert[] {
  const { decisions, reports, unlearned, value, outcomes, outcomeDelaySeconds } = figures;
  const received = Object.values(outcomes).reduce((sum, n) => sum + n, 0);
  const percent = (part: number, whole: number): string => `${Math.round((100 * part) / whole)} %`;
  const alerts: RewardAlert[] = [];
  if (decisions.routed >= ENOUGH && decisions.share !== null && decisions.share < 0.2) {
    alerts.push({
      code: 'few-rewards',
      observed: `${percent(decisions.rewarded, decisions.routed)} of the decisions of the last 24 hours got a reward.`,
      likelyCause: 'The agent does not report at the end of every step, or reports under other decision ids.',
      suggestedAction:
        'Report an outcome for each tool call; report not_used or failure when nothing helped.',
    });
  }
  const refused = unlearned['reward-late'] ?? 0;
  const late = reports.late + refused;
  if (late >= SOME && late > 0.05 * (received + refused)) {
    const isHeldBack = outcomeDelaySeconds.p95 !== null && outcomeDelaySeconds.p95 <= windowSeconds;
    alerts.push({
      code: 'late-rewards',
      observed: `${percent(late, received + refused)} of the rewards came after the window of ${windowSeconds} s.`,
      likelyCause: isHeldBack
        ? 'The outcomes are known in time, but are held back before they are reported.'
        : 'The outcome is known later than the reward contract expects.',
      suggestedAction: isHeldBack
        ? 'Report each outcome when it is known, or set rewards.onLate of the catalog to "learn".'
        : 'Set rewards.windowSeconds of the catalog above the 95th percentile of the delay.',
    });
  }
  const expired = (unlearned['record-expired'] ?? 0) + (unlearned['decision-expired'] ?? 0);
  if (expired > 0) {
    alerts.push({
      code: 'expired-rewards',
      observed: `${expired} rewards came after the record of their decision had been deleted, and were not learned.`,
      likelyCause:
        'They were reported more than a day after their window, or waited that long in the queue: no worker was running, or dead rewards were tried again.',
      suggestedAction:
        'See that a worker runs and that `pending` goes down to 0; report outcomes closer to their window.',
    });
  }
  if (reports.unknownDecision >= 10 && reports.unknownDecision > 0.05 * Math.max(1, received)) {
    alerts.push({
      code: 'unknown-decisions',
      observed: `${reports.unknownDecision} rewards named a decision that does not exist.`,
      likelyCause: 'The decision id is shortened or made up, belongs to another deployment, or has expired.',
      suggestedAction:
        'Keep the decisionId of the /v1/route answer with the step and send it back unchanged.',
    });
  }
  if (received >= ENOUGH && value.standardDeviation === 0) {
    alerts.push({
      code: 'constant-rewards',
      observed: `All ${received} rewards have the value ${value.mean}.`,
      likelyCause: 'The agent reports every call as the same outcome.',
      suggestedAction:
        'Report failure (or a value) when a tool did not help; without contrast nothing is learned.',
    });
  }
  if (outcomes.unknown >= SOME && outcomes.unknown > 0.5 * received) {
    alerts.push({
      code: 'mostly-unknown',
      observed: `${percent(outcomes.unknown, received)} of the reports say "unknown", which teaches nothing.`,
      likelyCause:
        'The agent does not know what became of its calls; or, where calls go through /mcp or `bandolier mcp`, many were cancelled, or the same job was searched for again after them and another tool was called.',
      suggestedAction:
        'Report success or failure as soon as it is known (report_outcome over MCP). Over MCP, let the agent search once for each job, in words that tell it from the job before.',
    });
  }
  if (reports.rejected >= SOME && reports.rejected > 0.05 * received) {
    alerts.push({
      code: 'rejected-rewards',
      observed: `${percent(reports.rejected, received)} of the rewards could not be used.`,
      likelyCause: 'They name tools that this catalog never had, or the embedder was changed meanwhile.',
      suggestedAction: 'Send the tool names of the slate unchanged.',
    });
  }
  if (reports.overUnitLimit > 0) {
    alerts.push({
      code: 'unit-limit',
      observed: `${reports.overUnitLimit} outcomes were not learned: their unit had reached its hourly limit for the tool.`,
      likelyCause:
        'One user, unit or session reports far more than the others: a loop, an id that many share, or an attempt to push a tool up or down.',
      suggestedAction:
        'Give every user a different id; if the traffic is legitimate, raise rewards.unitHourlyWeight of the catalog.',
    });
  }
  return alerts;
}
