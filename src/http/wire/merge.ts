import { z } from '@hono/zod-openapi';
import { MAX_MERGE_MEMBERS, MERGE_STATUSES, mergeDigest } from '../../ledger/merge-definition.ts';
import type { MergePage, Merges } from '../../merging/merges.ts';
import type { MergeRun } from '../../state/merge-runs.ts';
import type { MergeRecord } from '../../state/merge-table.ts';
import { autoApprove, mergeJudge, mergeThreshold } from './catalog.ts';
import { actor } from './experiment.ts';
import { catalogName, pageQuery, toolName } from './parameters.ts';
import { toolSchema } from './tool.ts';

const touched = z.enum(['all', 'changed']);

export const proposeMergesBody = z
  .strictObject({
    judge: mergeJudge.optional(),
    threshold: mergeThreshold.optional(),
    autoApprove: autoApprove.optional(),
    touched: touched.optional().meta({
      description:
        '`changed` (default): pairs that were compared before, by the process that runs it, with the same judge, threshold and embedding model, are not compared again. `all`: they are.',
    }),
    actor,
  })
  .openapi('MergeRunDraft');

export const proposeOwnBody = z
  .strictObject({
    tools: z
      .array(toolName)
      .min(2, 'has to name two tools at least')
      .max(MAX_MERGE_MEMBERS, `must not have more than ${MAX_MERGE_MEMBERS} tools`)
      .meta({ description: 'Names of the tools that are to be served as one.' }),
    name: toolName.optional().meta({
      description: 'The one of them under whose name they are served; the shortest if it is left out.',
    }),
    actor,
  })
  .openapi('OwnMerge');

export const mergeParams = z.object({
  catalog: catalogName,
  id: z.string().max(100).meta({ description: 'Id of the merge.', example: 'm_0f3a5c7e9b1d2f48' }),
});

const status = z.enum(MERGE_STATUSES).meta({
  description:
    '`proposed`: nobody has decided yet. `approved`: it is served. `rejected`: it is not proposed again until a tool of it changes. `undone`: its tools are served as they were put. `dissolved`: fewer than two of its tools, or not its representative, are left as they were, or another merge has taken all of them in.',
});

export const mergesQuery = pageQuery.extend({ status: status.optional() });

const digest = z.string().max(100).meta({
  description:
    'Of the united definition and the mappings: it changes where a run proposes them in another form.',
});

export const approveMergeBody = z.strictObject({ digest: digest.optional(), actor });

export const decideMergeBody = z.strictObject({ actor });

export const cancelMergeRunQuery = z.strictObject({ actor });

const mergeRunSchema = z
  .object({
    id: z.string(),
    status: z.enum(['queued', 'running', 'succeeded', 'failed', 'cancelled']),
    judge: mergeJudge,
    threshold: mergeThreshold,
    autoApprove,
    touched,
    progress: z.number().min(0).max(1),
    pairs: z.int().meta({ description: 'Pairs to compare, as far as that is known.' }),
    judged: z.int().meta({ description: 'Pairs that were compared.' }),
    proposals: z.int().meta({ description: 'Merges that it found, decided ones included.' }),
    askedAt: z.iso.datetime(),
    startedAt: z.iso.datetime().nullable(),
    endedAt: z.iso.datetime().nullable(),
    error: z.string().optional(),
    open: z
      .object({
        undecided: z.int(),
        reason: z.string(),
        spent: z.object({ requests: z.int(), tokens: z.int() }).optional(),
      })
      .optional()
      .meta({
        description:
          'What the judge left open, though the run succeeded: how many pairs and groups of tools, why, and what it had asked by then. The next run asks again.',
      }),
  })
  .openapi('MergeRun');

export function mergeRunView(run: MergeRun): z.input<typeof mergeRunSchema> {
  const { request, askedAt, startedAt, endedAt, error, open } = run;
  const { id, status, progress, pairs, judged, proposals } = run;
  return {
    ...{ id, status, ...request, progress, pairs, judged, proposals },
    askedAt: timeOf(askedAt),
    startedAt: startedAt === null ? null : timeOf(startedAt),
    endedAt: endedAt === null ? null : timeOf(endedAt),
    ...(error !== null && { error }),
    ...(open !== undefined && { open }),
  };
}

export const mergeRunAnswerSchema = z.object({ run: mergeRunSchema });

export const mergeRunDetailsSchema = z.object({
  run: mergeRunSchema.nullable().meta({ description: 'The newest run; null: there was none.' }),
  lookAlikes: z
    .array(
      z.object({
        pair: z.array(toolName).meta({ description: 'Two tools.' }),
        relation: z.enum(['overlapping', 'different']),
        confidence: z.number().min(0).max(1),
        reason: z.string(),
      }),
    )
    .meta({
      description:
        'Tools that look alike and are not the same, and why, by the newest run that succeeded: at most 100 pairs, those that overlap first.',
    }),
});

export function mergeRunDetailsView({ run, lookAlikes }: ReturnType<Merges['run']>) {
  const pairs = lookAlikes.map(({ tools, ...rest }) => ({ pair: tools.map(({ name }) => name), ...rest }));
  return { run: run === null ? null : mergeRunView(run), lookAlikes: pairs };
}

const verdict = z.object({
  pair: z.array(toolName).meta({ description: 'Two tools.' }),
  relation: z.enum(['same', 'overlapping', 'different']),
  confidence: z.number().min(0).max(1),
  reason: z.string(),
});

const confidence = z
  .number()
  .min(0)
  .max(1)
  .meta({ description: 'That all members do the same, as the judge says.' });

export const mergeViewSchema = z
  .object({
    id: mergeParams.shape.id,
    status,
    members: z.array(toolName).meta({ description: 'Names of the tools that do the same, at least two.' }),
    representative: toolName.meta({ description: 'The member under whose name the merged tool is served.' }),
    confidence,
    evidence: z.object({
      similarity: z.object({ least: z.number(), mean: z.number() }).nullable().meta({
        description: 'Cosine of the embeddings of the members; null: there are none.',
      }),
      judge: z
        .enum(['rules', 'chat', 'person'])
        .meta({ description: '`person`: somebody asked for it, and no run takes it back.' }),
      reason: z.string(),
      verdicts: z.array(verdict).meta({ description: 'What the judge said of pairs; not of all of many.' }),
      outcomes: z
        .array(z.object({ pair: z.array(toolName), confused: z.int() }))
        .optional()
        .meta({ description: 'How often one of a pair was called where the other was shown.' }),
      notes: z.array(z.string()).optional(),
    }),
    tokensSaved: z.int().meta({ description: 'How many tokens fewer the merged definition takes.' }),
    guarded: z.string().optional().meta({ description: 'Why it is never approved by itself.' }),
    definition: toolSchema.meta({ description: 'What is served, or would be.' }),
    mappings: z
      .record(
        z.string(),
        z.object({
          arguments: z.record(z.string(), z.string()),
          fixed: z.record(z.string(), z.unknown()).optional(),
          absent: z.array(z.string()),
        }),
      )
      .meta({
        description:
          'How a call of the merged tool becomes one of a member, by its name: its parameters by those of the merged tool, what it always gets, and which it cannot take.',
      }),
    digest,
    proposedAt: z.iso.datetime(),
    changedAt: z.iso.datetime(),
    actor: z.string().optional().meta({ description: 'Who decided last.' }),
    left: z.array(toolName).optional().meta({
      description: 'Members that it has lost since it was approved, since they changed or were removed.',
    }),
    took: z.array(mergeParams.shape.id).optional().meta({
      description: 'Merges that were approved before, whose tools it took in: undoing it serves them again.',
    }),
    why: z.string().optional().meta({ description: 'What dissolved it.' }),
  })
  .openapi('Merge');

export function mergeView(record: MergeRecord): z.input<typeof mergeViewSchema> {
  const { members, left, proposedAt, changedAt, hash: _, ...rest } = record;
  return {
    ...(rest as unknown as z.input<typeof mergeViewSchema>),
    members: members.map(({ name }) => name),
    ...(left !== undefined && { left: left.map(({ name }) => name) }),
    digest: mergeDigest(record),
    proposedAt: timeOf(proposedAt),
    changedAt: timeOf(changedAt),
  };
}

export const mergePageSchema = z
  .object({
    merges: z.array(mergeViewSchema),
    nextCursor: z.string().nullable().meta({ description: 'For the next page; null: this was the last.' }),
    counts: z.object(Object.fromEntries(MERGE_STATUSES.map((one) => [one, z.int()]))),
    run: mergeRunSchema.nullable().meta({ description: 'The newest run; null: there was none.' }),
  })
  .openapi('MergePage');

export function mergePageView({ merges, nextCursor, run, counts }: MergePage) {
  const newest = run === null ? null : mergeRunView(run);
  return { merges: merges.map(mergeView), nextCursor, counts, run: newest };
}

function timeOf(at: number): string {
  return new Date(at).toISOString();
}
