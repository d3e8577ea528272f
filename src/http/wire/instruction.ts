import { z } from '@hono/zod-openapi';
import { Problem } from '../../errors/problem.ts';
import type { LearnedInstruction } from '../../instructions/instructions.ts';
import {
  DEFAULT_INSTRUCTION_KIND,
  DEFAULT_PRIORITY,
  INSTRUCTION_KINDS,
  INSTRUCTION_STATUSES,
  MAX_INCLUDED,
  MAX_INSTRUCTION_TEXT,
} from '../../ledger/instruction-definition.ts';
import {
  INSTRUCTION_EVENTS,
  type InstructionChange,
  type InstructionRecord,
} from '../../state/instruction-table.ts';
import type { BodyLimits } from '../json-scanner.ts';
import { actor } from './experiment.ts';
import { catalogName, eachOnce, pageQuery, putOrRemoved, toolName } from './parameters.ts';
import { text } from './tool.ts';

const MAX_INSTRUCTIONS_PER_REQUEST = 10_000;

/** Ten thousand instructions of 600 tokens. */
export const INSTRUCTIONS_BODY: BodyLimits = {
  bytes: 32 * 1024 * 1024,
  values: 500_000,
  elements: MAX_INSTRUCTIONS_PER_REQUEST,
  tooManyElements: () =>
    new Problem(
      'body-too-large',
      `More than ${MAX_INSTRUCTIONS_PER_REQUEST} instructions in one request.`,
      'Send them in several PATCH requests.',
    ),
};

const SPLIT =
  '`bandolier import-prompt <file>` splits a prompt along its headings, lists and paragraphs into units of 200 to 600 tokens.';

/** Returns what to do with a text that is a whole prompt; null: there is none. */
export function splittingOf(body: unknown): string | null {
  const { instructions, put } = Object(body) as Record<string, unknown>;
  const list = [instructions, put].find(Array.isArray) ?? [];
  const isLong = list.some((one) => String(Object(one).text ?? '').length > MAX_INSTRUCTION_TEXT);
  return isLong ? `An instruction is one unit of a prompt. ${SPLIT}` : null;
}

const instructionId = toolName
  .refine((id) => id !== 'changes', 'must not be "changes"')
  .meta({
    description: 'Id of the instruction, unique in its catalog.',
    example: 'refunds/limits',
  });

const members = {
  id: instructionId,
  text: text(MAX_INSTRUCTION_TEXT)
    .refine((value) => /[^\s\p{C}]/u.test(value), 'must say something: it is empty')
    .refine((value) => !/\p{Cs}/u.test(value), 'must not contain halves of characters (lone surrogates)')
    .meta({ example: 'Refunds above 100 EUR need the approval of a manager.' }),
  kind: z.enum(INSTRUCTION_KINDS).default(DEFAULT_INSTRUCTION_KIND).meta({
    description: '`safety` ones are in every prompt; the others are chosen for each query.',
  }),
  priority: z.int().min(0).max(100).default(DEFAULT_PRIORITY).meta({
    description: 'Of those that are served the highest stands first.',
  }),
  domain: text(256).min(1).optional(),
  tags: z.array(text(256).min(1)).max(64).optional(),
  includes: z
    .array(instructionId)
    .max(64)
    .optional()
    .meta({
      description: `Ids of instructions that it does not make sense without: they come with it, at most ${MAX_INCLUDED}, what they include in turn counted.`,
    }),
};

const ignored = z.unknown().optional().meta({ description: 'As it was answered; ignored.' });

const draftSchema = z
  .strictObject({
    ...members,
    status: z.enum(INSTRUCTION_STATUSES).optional().meta({
      description:
        'Only approved ones are served. Absent: what was approved and did not change stays approved, and everything else is a draft. A changed text of an approved instruction waits for approval, and the one before is served meanwhile.',
    }),
    // So that an instruction can be put as it was got.
    ...{ hash: ignored, addedAt: ignored, updatedAt: ignored },
    ...{ approvedAt: ignored, approvedBy: ignored, pending: ignored, learned: ignored },
  })
  .transform(
    ({
      hash: _,
      addedAt: _a,
      updatedAt: _u,
      approvedAt: _t,
      approvedBy: _b,
      pending: _p,
      learned: _l,
      ...own
    }) => own,
  )
  .openapi('Instruction', { description: 'A unit of a system prompt.' });

/** Instructions of one request, each id once. */
const draftsSchema = z.array(draftSchema).superRefine(eachOnce('id'));

export const syncInstructionsBody = z.strictObject({ instructions: draftsSchema, actor });

export const patchInstructionsBody = z
  .strictObject({
    put: draftsSchema.optional().meta({ description: 'Added, or changed if there is one of that id.' }),
    remove: z.array(instructionId).optional().meta({ description: 'Ids; unknown ones do no harm.' }),
    actor,
  })
  .superRefine(putOrRemoved('id'));

export const approveInstructionsBody = z.strictObject({
  ids: z.array(instructionId).min(1).max(MAX_INSTRUCTIONS_PER_REQUEST).optional().meta({
    description: 'Absent: everything that waits.',
  }),
  actor,
});

export const instructionParams = z.object({ catalog: catalogName, id: instructionId });
export const removeInstructionQuery = z.strictObject({ actor });
export const instructionsQuery = pageQuery.extend({
  status: z.enum(INSTRUCTION_STATUSES).optional().meta({
    description: '`draft`: everything that waits for approval, also changes of what is approved.',
  }),
});
export const changesQuery = z.strictObject({ limit: z.coerce.number().int().min(1).max(500).default(50) });

export const instructionChangesSchema = z
  .object({
    added: z.int(),
    changed: z.int(),
    approved: z.int().meta({ description: 'One that is new and approved at once counts in both.' }),
    withdrawn: z.int().meta({ description: 'Were approved, and are drafts again.' }),
    removed: z.int(),
    unchanged: z.int(),
    awaiting: z.int().meta({ description: 'How many wait for approval now, in the whole catalog.' }),
    duplicates: z
      .array(
        z.object({
          ids: z.tuple([z.string(), z.string()]),
          similarity: z.number().meta({
            description:
              'Share of the runs of three words that both have among those that either has; 0.7 to 1.',
          }),
          exact: z.boolean().meta({ description: 'Equal but for case, punctuation and blanks.' }),
        }),
      )
      .meta({
        description: 'Of what was added or changed: what says nearly the same, the most similar 100 pairs.',
      }),
    duplicatesComplete: z.boolean().meta({
      description:
        'false: there are more of `duplicates`, or too much is alike for all texts to be compared.',
    }),
    revision: z.string().meta({ description: 'Revision of the instructions afterwards; also in `ETag`.' }),
  })
  .openapi('InstructionChanges');

const definition = { ...members, status: z.enum(INSTRUCTION_STATUSES) };

export const instructionViewSchema = z
  .object({
    ...definition,
    hash: z.string().meta({ description: 'Of everything but its status.' }),
    addedAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
    approvedAt: z.iso.datetime().optional(),
    approvedBy: z.string().optional().meta({ description: 'The `actor` of the request that approved it.' }),
    learned: z
      .object({
        effect: z.number().meta({
          description:
            'What it adds to the reward of a decision by being there, for queries such as those that it was learned from; where there is little evidence, what its retrieval score promises.',
        }),
        evidence: z.number().meta({
          description:
            'Sum of (shown − propensity)² over decisions, of which each adds 1 at most; older ones count less from 1,000 on. With less than 100 the effect is a guess still.',
        }),
      })
      .nullable()
      .meta({ description: 'null: nothing yet, since chance had no part in whether it was served.' }),
    pending: z
      .object({ ...definition, hash: z.string(), at: z.iso.datetime() })
      .optional()
      .meta({ description: 'A change that waits for approval; until then the definition above is served.' }),
  })
  .openapi('StoredInstruction');

export const instructionPageSchema = z
  .object({
    instructions: z.array(instructionViewSchema),
    nextCursor: z.string().nullable().meta({ description: 'For the next page; null: this was the last.' }),
    revision: z.string(),
  })
  .openapi('InstructionPage');

export function instructionView(record: LearnedInstruction): z.input<typeof instructionViewSchema> {
  const { instruction, hash, addedAt, updatedAt, approval, pending, learned } = record;
  return {
    ...copied(instruction),
    hash,
    addedAt: timeOf(addedAt),
    updatedAt: timeOf(updatedAt),
    ...(approval !== undefined && { approvedAt: timeOf(approval.at) }),
    ...(approval?.actor !== undefined && { approvedBy: approval.actor }),
    learned,
    ...(pending !== undefined && {
      pending: { ...copied(pending.instruction), hash: pending.hash, at: timeOf(pending.at) },
    }),
  };
}

function copied({ tags, includes, ...rest }: InstructionRecord['instruction']) {
  return { ...rest, ...(tags && { tags: [...tags] }), ...(includes && { includes: [...includes] }) };
}

function timeOf(at: number): string {
  return new Date(at).toISOString();
}

const eachEvent = <Value extends z.ZodType>(value: Value) =>
  z.object(
    Object.fromEntries(INSTRUCTION_EVENTS.map((event) => [event, value])) as Record<
      (typeof INSTRUCTION_EVENTS)[number],
      Value
    >,
  );

export const instructionLogSchema = z
  .object({
    changes: z.array(
      z.object({
        revision: z.string().meta({ description: 'Revision afterwards.' }),
        at: z.iso.datetime(),
        actor: z.string().nullable(),
        counts: eachEvent(z.int()),
        ids: eachEvent(z.array(z.string())).meta({ description: 'At most 100 of each.' }),
      }),
    ),
  })
  .openapi('InstructionLog');

export function instructionLogView(
  changes: readonly InstructionChange[],
): z.input<typeof instructionLogSchema> {
  return {
    changes: changes.map(({ at, actor: who = null, ids, counts, revision }) => ({
      ...{ revision, at: timeOf(at), actor: who, counts },
      ids: Object.fromEntries(INSTRUCTION_EVENTS.map((event) => [event, [...ids[event]]])) as Record<
        (typeof INSTRUCTION_EVENTS)[number],
        string[]
      >,
    })),
  };
}
