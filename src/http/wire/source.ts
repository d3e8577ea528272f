import { z } from '@hono/zod-openapi';
import type { SourceDefinition } from '../../ledger/source-definition.ts';
import type { SourceView, WholeSourceView } from '../../sources/sources.ts';
import { catalogName, toolName } from './parameters.ts';
import { toolSchema } from './tool.ts';

export const sourceName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    'has to be 1 to 64 of A–Z, a–z, 0–9, ., _ and -, and must begin with a letter or a digit',
  )
  .meta({ description: 'Name of the source, unique in its catalog.', example: 'github' });

export const sourceParams = z.object({ catalog: catalogName, name: sourceName });

export const removeSourceQuery = z.strictObject({
  tools: z
    .enum(['remove', 'keep'])
    .default('remove')
    .meta({ description: '`keep`: its tools stay, as if they had been put over the API.' }),
});

const text = (length: number) => z.string().min(1).max(length);
const texts = (length: number) => z.record(text(256), z.string().max(length));
/** Long paths and addresses exist; longer ones are mistakes. */
const PLACE = 4096;

const members = {
  kind: z.enum(['mcp', 'openapi', 'file', 'skills']).meta({
    description:
      'What is read: an MCP server, an OpenAPI 3.0 or 3.1 document, a list of tools (MCP, OpenAI, Anthropic or ours), a folder of SKILL.md files.',
  }),
  url: z
    .string()
    .max(PLACE)
    .regex(/^(https?:\/\/|\$\{).*$/, 'has to be an address that begins with http:// or https://')
    .optional()
    .meta({ description: 'Of the server or the document.', example: 'https://mcp.example.com/mcp' }),
  headers: texts(8192).optional().meta({
    description: `Sent to \`url\`. Secrets are references: \`Bearer \${BANDOLIER_SECRET_GITHUB}\`.`,
  }),
  path: text(PLACE).optional().meta({ description: 'Of a file or folder on the machine of the service.' }),
  command: text(PLACE).optional().meta({ description: 'Program that is an MCP server over stdio.' }),
  args: z.array(z.string().max(8192)).max(256).optional(),
  env: texts(8192).optional().meta({ description: 'Variables that the program gets.' }),
  cwd: text(PLACE).optional().meta({ description: 'Folder that the program starts in.' }),
  prefix: z.string().max(64).optional().meta({
    description: 'Before the name of every tool, such as `github.`.',
  }),
  onChange: z.enum(['serve', 'quarantine']).default('serve').meta({
    description:
      '`quarantine`: after the first sync, new tools and changed definitions are held back until somebody approves them.',
  }),
  refreshSeconds: z.int().min(10).max(604_800).nullable().default(3600).meta({
    description:
      'How often it is read again, unless its server says that its list holds for a shorter time. null: when it is asked for.',
  }),
};

type Member = keyof typeof members;

/** Members that say where tools are, by kind: one of these sets, where those with ? may be left out. */
const PLACES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  mcp: [
    ['url', 'headers?'],
    ['command', 'args?', 'env?', 'cwd?'],
  ],
  openapi: [['url', 'headers?'], ['path']],
  file: [['url', 'headers?'], ['path']],
  skills: [['path']],
};
const EVERYWHERE: readonly Member[] = ['kind', 'prefix', 'onChange', 'refreshSeconds'];

export const sourceDefinitionSchema = z
  .strictObject(members)
  .superRefine((given, context) => {
    const sets = PLACES[given.kind];
    const present = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name]));
    const set = sets.find(([first]) => present.includes(first));
    if (set === undefined) {
      const needed = sets.map(([first]) => `\`${first}\``).join(' or ');
      context.addIssue({ code: 'custom', message: `has to say where its tools are, with ${needed}` });
      return;
    }
    const allowed = new Set([...EVERYWHERE, ...set.map((name) => name.replace('?', ''))]);
    for (const name of present.filter((name) => !allowed.has(name))) {
      const message = `does not go with \`${set[0]}\` of a source of kind \`${given.kind}\``;
      context.addIssue({ code: 'custom', path: [name], message });
    }
  })
  .openapi('SourceDefinition');

/** The members that were checked above are those of one kind. */
export function definitionOf(given: z.output<typeof sourceDefinitionSchema>): SourceDefinition {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as unknown as SourceDefinition;
}

const viewMembers = {
  name: sourceName,
  kind: members.kind,
  status: z.enum(['waiting', 'ok', 'error']).meta({
    description:
      '`waiting`: it was not read yet by this definition. `ok`, `error`: how the newest sync went.',
  }),
  tools: z.int().meta({ description: 'Tools of the catalog that come from here.' }),
  held: z.int().meta({ description: 'Definitions that wait for approval.' }),
  lastSync: z.iso.datetime().nullable().meta({ description: 'The newest sync that succeeded.' }),
  lastAttempt: z.iso
    .datetime()
    .nullable()
    .meta({ description: 'The newest one by this definition, whatever came of it.' }),
  nextSync: z.iso.datetime().nullable().meta({ description: 'null: when it is asked for.' }),
  error: z
    .string()
    .optional()
    .meta({ description: 'Why the newest sync failed. Its tools stay as they were.' }),
  leftOutCount: z.int().meta({
    description:
      'How many tools the newest sync that succeeded could not put: `GET` of the source names them.',
  }),
};

/** As it is answered: members that the configuration of a process alone can have are in it as well. */
const storedDefinitionSchema = z.looseObject({ kind: members.kind }).meta({
  description: 'As it was put; secrets are references.',
});

export const sourceSchema = z
  .object({ ...viewMembers, definition: storedDefinitionSchema })
  .openapi('Source');

export const wholeSourceSchema = z
  .object({
    ...viewMembers,
    definition: storedDefinitionSchema,
    leftOut: z
      .array(z.object({ name: z.string(), why: z.string() }))
      .meta({ description: 'What the newest sync could not put, and why: the first hundred.' }),
    heldTools: z
      .array(z.object({ tool: toolSchema, definitionHash: z.string(), heldSince: z.iso.datetime() }))
      .meta({ description: 'Definitions that wait for approval: the first hundred.' }),
  })
  .openapi('SourceDetails');

export const sourceListSchema = z.object({ sources: z.array(sourceSchema) });

/** A list of ten thousand definitions would be no answer. */
const HELD_SHOWN = 100;

export function sourceView(view: SourceView): z.input<typeof sourceSchema> {
  return { ...view, definition: { ...view.definition } };
}

export function wholeSourceView({ heldTools, ...view }: WholeSourceView): z.input<typeof wholeSourceSchema> {
  return {
    ...sourceView(view),
    leftOut: [...view.leftOut],
    heldTools: heldTools.slice(0, HELD_SHOWN).map(({ tool, hash, heldSince }) => ({
      tool: tool as z.input<typeof toolSchema>,
      definitionHash: hash,
      heldSince: new Date(heldSince).toISOString(),
    })),
  };
}

export const approvalSchema = z.strictObject({
  tools: z.array(toolName).max(10_000).optional().meta({ description: 'Names; all that wait if left out.' }),
});
