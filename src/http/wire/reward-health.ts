import { z } from '@hono/zod-openapi';
import { catalogName } from './names.ts';

const counts = z.record(z.string(), z.int());
const figure = z.number().nullable();

export const rewardHealthSchema = z
  .object({
    catalog: catalogName,
    pending: z
      .int()
      .meta({ description: 'Accepted and not yet learned here; 0: everything has taken effect.' }),
    decisions: z.object({ routed: z.int(), rewarded: z.int(), share: figure }),
    reports: counts.meta({ description: 'By what became of them.' }),
    unlearned: counts.meta({ description: 'Reports that were not learned, or only in part, by why.' }),
    outcomes: counts,
    value: z.object({ mean: figure, standardDeviation: figure }),
    delaySeconds: z.object({ p50: figure, p95: figure }).meta({ description: 'From decision to report.' }),
    outcomeDelaySeconds: z
      .object({ p50: figure, p95: figure })
      .meta({ description: 'From decision to outcome, of reports with `occurredAt`.' }),
    ok: z.boolean(),
    alerts: z.array(
      z.object({
        code: z.string(),
        observed: z.string(),
        likelyCause: z.string(),
        suggestedAction: z.string(),
      }),
    ),
  })
  .openapi('RewardHealth');
