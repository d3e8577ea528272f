import { z } from '@hono/zod-openapi';
import { STANDING_ORDERS } from '../../catalog/tools.ts';
import { Problem } from '../../errors/problem.ts';
import { providerName } from '../../ledger/provider-name.ts';
import type { ToolRecord } from '../../state/tool-table.ts';
import type { BodyLimits } from '../json-scanner.ts';
import { inputSchema } from './input-schema.ts';
import { catalogName, providerNameSchema, toolName } from './parameters.ts';

export const MAX_TOOLS_PER_REQUEST = 10_000;

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
const text = (length: number) =>
  z
    .string()
    .max(length, `must not be longer than ${length} characters`)
    .refine((value) => !/(?![\t\n\r])\p{Cc}/u.test(value), 'must not contain control characters');

/** The fixed wire shape of a tool. */
export const toolSchema = z
  .strictObject({
    name: toolName,
    description: text(16_384).meta({
      description: 'What the tool does, in words: this is what queries are compared with.',
      example: 'Give a customer their money back for a payment.',
    }),
    inputSchema,
    server: toolName.optional().meta({ description: 'The server or product the tool belongs to.' }),
    tags: z.array(text(256).min(1)).max(64).optional(),
    examples: z
      .array(text(4096).min(1))
      .max(100)
      .optional()
      .meta({ description: 'Queries that this tool is right for.' }),
    replaces: z
      .array(toolName)
      .max(100)
      .optional()
      .meta({ description: 'Former names: what was learned about them moves to this tool.' }),
    metadata: z
      .record(z.string(), z.unknown())
      .refine(
        (metadata) => JSON.stringify(metadata).length <= 16_384,
        'must not be longer than 16 KB as JSON',
      )
      .optional()
      .meta({ description: 'Kept and given back as it is.' }),
  })
  .openapi('Tool');

/** Members that tools have in MCP, OpenAI's and Anthropic's lists, and not here. */
const FOREIGN_MEMBERS = ['function', 'parameters', 'input_schema', 'title', 'annotations', 'outputSchema'];

/** Returns what converts a list of tools of another shape; null: this looks like ours. */
export function conversionOf(body: unknown): string | null {
  const { tools, put, result, openapi } = Object(body) as Record<string, unknown>;
  const list = [body, tools, put].find(Array.isArray) ?? [];
  const isForeign =
    list === body ||
    [result, openapi].some((member) => member !== undefined) ||
    list.some((tool) => FOREIGN_MEMBERS.some((member) => Object.hasOwn(Object(tool), member)));
  if (!isForeign) return null;
  return 'Over HTTP a tool has the members `name`, `description` and `inputSchema` (see /docs). `bandolier import <file>` converts lists of MCP, OpenAI and Anthropic, and OpenAPI documents.';
}

/** Tools of one request, each name once. */
export const toolsSchema = z.array(toolSchema).superRefine((tools, context) => {
  for (const { path, message } of repeatedNames(tools.map(({ name }) => name))) {
    context.addIssue({ code: 'custom', path, message });
  }
});

function repeatedNames(names: readonly string[]): { path: (string | number)[]; message: string }[] {
  const first = new Map<string, number>();
  return names.flatMap((name, index) => {
    const earlier = first.get(name);
    if (earlier === undefined) {
      first.set(name, index);
      return [];
    }
    return [{ path: [index, 'name'], message: `is the same as the name of number ${earlier}` }];
  });
}

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
export const toolViewSchema = toolSchema
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
