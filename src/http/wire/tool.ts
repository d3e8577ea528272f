import { z } from '@hono/zod-openapi';
import { STANDING_ORDERS } from '../../catalog/tools.ts';
import { Problem } from '../../errors/problem.ts';
import { providerName } from '../../ledger/provider-name.ts';
import { MAX_SCHEMA_DEPTH, MAX_SKILL_TEXT, TOOL_KINDS } from '../../ledger/tool-definition.ts';
import type { ToolRecord } from '../../state/tool-table.ts';
import type { BodyLimits } from '../json-scanner.ts';
import { inputSchema, isDeeperThan } from './input-schema.ts';
import { catalogName, eachOnce, providerNameSchema, toolName } from './parameters.ts';

const MAX_TOOLS_PER_REQUEST = 10_000;

/** Ten thousand tools of 3 KB and 200 values each: few have more. */
export const TOOLS_BODY: BodyLimits = {
  bytes: 32 * 1024 * 1024,
  values: 2_000_000,
  elements: MAX_TOOLS_PER_REQUEST,
  tooManyElements: () =>
    new Problem(
      'too-many-tools',
      `More than ${MAX_TOOLS_PER_REQUEST} tools in one request.`,
      'Send them in several PATCH requests, or use `bandolier import`, which does that.',
    ),
};

/** Text that people wrote: line breaks and tabs are fine, other control characters are not. */
export const text = (length: number) =>
  z
    .string()
    .max(length, `must not be longer than ${length} characters`)
    .refine((value) => !/(?![\t\n\r])\p{Cc}/u.test(value), 'must not contain control characters');

const json = z.record(z.string(), z.unknown());

/** What the members of a tool that are only kept and given back may hold together. */
const MAX_KEPT_LENGTH = 256 * 1024;
/** These have limits of their own. */
const LIMITED = new Set([
  'name',
  'description',
  'text',
  'inputSchema',
  'tags',
  'examples',
  'replaces',
  'metadata',
  'preconditions',
  'postconditions',
  'failureModes',
  'exemplars',
  'negativeExamples',
]);

/** What our own answers add to a tool: taken back without a word, so that a tool can be put as it was got. */
const ADDED_MEMBERS = ['providerName', 'definitionHash', 'addedAt'];

/** Statements about a tool. */
const sentences = z.array(text(4096).min(1)).max(32).optional();

const toolMembers = z
  .looseObject({
    name: toolName,
    title: text(1024).optional().meta({ description: 'What people read in place of the name.' }),
    description: text(16_384).default('').meta({
      description:
        'What the tool does, in words: this is what queries are compared with. MCP lets servers leave it out; then the name has to do.',
      example: 'Give a customer their money back for a payment.',
    }),
    inputSchema,
    outputSchema: json.optional().meta({ description: 'JSON Schema of structured results.' }),
    annotations: json.optional().meta({
      description: 'Hints of its server about what a call does, such as `readOnlyHint`.',
      example: { readOnlyHint: false, destructiveHint: true },
    }),
    icons: z.array(json).optional(),
    execution: json.optional().meta({ description: 'How it may be called, such as whether as a task.' }),
    _meta: json.optional(),
    kind: z.enum(TOOL_KINDS).optional().meta({
      description: 'A skill is text that an agent reads, and not called. Absent: a tool.',
    }),
    text: text(MAX_SKILL_TEXT).optional().meta({
      description:
        'Of a skill: what an agent reads. No part of definitions in slates; `describe_tool` answers it.',
    }),
    server: toolName.optional().meta({ description: 'The server or product the tool belongs to.' }),
    tags: z.array(text(256).min(1)).max(64).optional(),
    examples: z
      .array(text(4096).min(1))
      .max(100)
      .optional()
      .meta({ description: 'Queries that this tool is right for.' }),
    preconditions: sentences.meta({ description: 'What has to be so before it is called.' }),
    postconditions: sentences.meta({ description: 'What is so after it was called.' }),
    failureModes: sentences.meta({ description: 'In which ways it fails, and what to do then.' }),
    exemplars: z
      .array(
        z.strictObject({
          query: text(4096).min(1),
          arguments: json.refine(
            (given) => JSON.stringify(given).length <= 16_384,
            'must not be longer than 16 KB as JSON',
          ),
          result: text(4096).optional(),
        }),
      )
      .max(20)
      .optional()
      .meta({ description: 'Calls that were right, to be shown to a model.' }),
    negativeExamples: z.array(text(4096).min(1)).max(100).optional().meta({
      description:
        'Queries that this tool is not right for, though they sound like it. Nothing is searched in them.',
    }),
    replaces: z
      .array(toolName)
      .max(100)
      .optional()
      .meta({ description: 'Former names: what was learned about them moves to this tool.' }),
    metadata: json
      .refine(
        (metadata) => JSON.stringify(metadata).length <= 16_384,
        'must not be longer than 16 KB as JSON',
      )
      .optional()
      .meta({ description: 'Kept and given back as it is.' }),
  })
  .openapi('Tool', {
    description:
      'A tool as its MCP server lists it, and `kind`, `text`, `server`, `tags`, `examples`, `preconditions`, `postconditions`, `failureModes`, `exemplars`, `negativeExamples`, `replaces` and `metadata`. Members that are not known here are kept, and are in definitions of format `mcp`.',
  });

/** The fixed wire shape of a tool. */
export const toolSchema = toolMembers
  .superRefine((tool, context) => {
    const kept = Object.entries(tool).filter(([member]) => !LIMITED.has(member));
    const deep = kept.find(([, value]) => isDeeperThan(value, MAX_SCHEMA_DEPTH));
    if (deep !== undefined) {
      const message = `must not be nested deeper than ${MAX_SCHEMA_DEPTH} levels`;
      return context.addIssue({ code: 'custom', path: [deep[0]], message });
    }
    const lengths = kept.map(([member, value]) => [member, JSON.stringify(value)?.length ?? 0] as const);
    if (lengths.reduce((sum, [, length]) => sum + length, 0) <= MAX_KEPT_LENGTH) return;
    const [longest] = lengths.reduce((most, one) => (one[1] > most[1] ? one : most));
    const message = `is the longest of the members that are only kept, which must not be longer than ${MAX_KEPT_LENGTH / 1024} KB together, as JSON`;
    context.addIssue({ code: 'custom', path: [longest], message });
  })
  .transform(withoutAdded);

function withoutAdded<T extends object>(tool: T): T {
  if (!ADDED_MEMBERS.some((member) => Object.hasOwn(tool, member))) return tool;
  return Object.fromEntries(Object.entries(tool).filter(([member]) => !ADDED_MEMBERS.includes(member))) as T;
}

/** Members that tools have in OpenAI's and Anthropic's lists, and not here. */
const FOREIGN_MEMBERS = ['function', 'parameters', 'input_schema'];

/** Returns what converts a list of tools of another shape; null: this looks like ours. */
export function conversionOf(body: unknown): string | null {
  const { tools, put, result, openapi } = Object(body) as Record<string, unknown>;
  const list = [body, tools, put].find(Array.isArray) ?? [];
  const isForeign =
    list === body ||
    [result, openapi].some((member) => member !== undefined) ||
    list.some((tool) => FOREIGN_MEMBERS.some((member) => Object.hasOwn(Object(tool), member)));
  if (!isForeign) return null;
  return 'Over HTTP tools are `{"tools": [{name, description, inputSchema, …}]}`, as MCP servers list them (see /docs). `bandolier import <file>` converts other lists of MCP, those of OpenAI and Anthropic, and OpenAPI documents.';
}

/** Tools of one request, each name once. */
export const toolsSchema = z.array(toolSchema).superRefine(eachOnce('name'));

export const toolChangesSchema = z
  .object({
    added: z.int(),
    changed: z.int(),
    removed: z.int(),
    unchanged: z.int(),
    revision: z.string().meta({ description: 'Revision of the catalog afterwards; also in `ETag`.' }),
  })
  .openapi('ToolChanges');

export const toolParams = z.object({ catalog: catalogName, name: toolName });

/** A tool as it is given back. */
export const toolViewSchema = toolMembers
  .extend({
    providerName: providerNameSchema,
    definitionHash: z.string(),
    addedAt: z.iso.datetime(),
  })
  .openapi('StoredTool');

export function toolView({ tool, hash, addedAt }: ToolRecord): z.input<typeof toolViewSchema> {
  return {
    ...(tool as z.input<typeof toolSchema>),
    providerName: providerName(tool.name),
    definitionHash: hash,
    addedAt: new Date(addedAt).toISOString(),
  };
}

export const toolPageSchema = z
  .object({
    tools: z.array(toolViewSchema),
    nextCursor: z.string().nullable().meta({ description: 'For the next page; null: this was the last.' }),
    revision: z.string(),
  })
  .openapi('ToolPage');

const counts = {
  shown: z.int().meta({ description: 'Times in a slate about which anything was reported.' }),
  called: z.int(),
  successes: z.int(),
  failures: z.int(),
  rewardSum: z.number(),
  unlearned: z.int().meta({ description: 'Outcomes that teach nothing: timeouts and refusals.' }),
  timeouts: z.int().meta({ description: 'Those of them that are timeouts.' }),
};

export const toolStatsSchema = z.object({ name: toolName, ...counts }).openapi('ToolStats');

export const standingQuery = z.strictObject({
  order: z.enum(STANDING_ORDERS).default('called').meta({
    description: '`best` and `worst`: by (successes + 1) / (successes + failures + 2).',
  }),
  limit: z.coerce.number().int().min(1).max(1000).default(20),
});

export const standingSchema = z
  .object({
    tools: z.int().meta({ description: 'Tools of the catalog.' }),
    called: z.int().meta({ description: 'How many of them were ever called.' }),
    total: z.object(counts),
    standing: z.array(toolStatsSchema),
  })
  .openapi('Standing');
