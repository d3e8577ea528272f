import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SLATE_FORMATS, type SlateFormat } from '../../src/decisions/decision.ts';
import { DETAIL_LEVELS, type DetailLevel } from '../../src/ledger/catalog-settings.ts';
import { providerName } from '../../src/ledger/provider-name.ts';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import { providerSchema } from '../../src/routing/provider-schema.ts';
import {
  BRIEF_DESCRIPTION,
  composedDefinitions,
  definitionIn,
  textForModel,
} from '../../src/routing/slate-definition.ts';
import { schemaFaults } from '../examples/schema-faults.ts';

const file = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));

const brief = (description: string): unknown => {
  const tool = { name: 'a', description, inputSchema: {} };
  return (definitionIn('mcp', 'brief', tool) as ToolDefinition).description;
};

/** What is wrong with a definition by the pages of its provider; null: nothing. */
const FAULTS: Readonly<Record<Exclude<SlateFormat, 'names'>, (definition: never) => string | null>> = {
  // https://modelcontextprotocol.io/specification/2025-11-25/schema#tool
  mcp: ({ name, inputSchema }: ToolDefinition) =>
    typeof name === 'string' ? argumentFault(inputSchema) : 'name',
  // https://platform.openai.com/docs/api-reference/chat/create#chat_create-tools
  openai: ({ type, function: { name, parameters } }: OpenAiTool) =>
    type === 'function' && PROVIDER_NAME.test(name) ? providerFault(parameters) : 'type or name',
  // https://platform.openai.com/docs/api-reference/responses/create#responses_create-tools
  'openai-responses': ({ type, name, parameters, strict }: FlatOpenAiTool) =>
    type === 'function' && PROVIDER_NAME.test(name) && !strict
      ? providerFault(parameters)
      : 'type, name or strict',
  // https://developers.openai.com/api/docs/guides/tools-tool-search
  'openai-tool-search-output': ({ type, name, parameters, defer_loading }: FlatOpenAiTool) =>
    type === 'function' && PROVIDER_NAME.test(name) && defer_loading === true
      ? providerFault(parameters)
      : 'type, name or defer_loading',
  // https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use
  anthropic: ({ name, input_schema }: { name: string; input_schema: Schema }) =>
    PROVIDER_NAME.test(name) ? providerFault(input_schema) : 'name',
  // https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool
  'anthropic-tool-reference': ({ type, tool_name }: { type: string; tool_name: string }) =>
    type === 'tool_reference' && PROVIDER_NAME.test(tool_name) ? null : 'type or name',
  // https://platform.claude.com/docs/build-with-claude/mid-conversation-system-messages
  'anthropic-tool-addition': ({ type, tool }: ToolAddition) =>
    type === 'tool_addition' && tool.type === 'tool_definition' && PROVIDER_NAME.test(tool.definition.name)
      ? providerFault(tool.definition.input_schema)
      : 'type or name',
};
const PROVIDER_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
type Schema = Readonly<Record<string, unknown>>;
interface OpenAiTool {
  readonly type: string;
  readonly function: { readonly name: string; readonly parameters: Schema };
}

interface FlatOpenAiTool {
  readonly type: string;
  readonly name: string;
  readonly parameters: Schema;
  readonly strict: boolean;
  readonly defer_loading?: boolean;
}

interface ToolAddition {
  readonly type: string;
  readonly tool: {
    readonly type: string;
    readonly definition: { readonly name: string; readonly input_schema: Schema };
  };
}

function providerFault(schema: Schema): string | null {
  const refused = ['oneOf', 'anyOf', 'allOf', 'not', 'enum', '$ref'].find((keyword) => keyword in schema);
  if (refused !== undefined) return `${refused} at the top`;
  return schema.type === 'object' && typeof schema.properties === 'object'
    ? null
    : 'no object with properties';
}

function argumentFault(schema: Schema): string | null {
  if (schema.type !== 'object' || typeof schema.properties !== 'object') return 'no object with properties';
  return schemaFaults(schema)[0] ?? null;
}

type GoldenFormat = Exclude<SlateFormat, 'names'>;
const GOLDEN_FORMATS = SLATE_FORMATS.filter((format): format is GoldenFormat => format !== 'names');
const GOLDEN_TOOLS = file('../golden/definitions/tools.json') as ToolDefinition[];
const GOLDEN = Object.fromEntries(
  GOLDEN_FORMATS.map((format) => [format, file(`../golden/definitions/${format}.json`).definitions]),
) as Record<GoldenFormat, Record<DetailLevel, unknown>[]>;

describe('a definition', () => {
  it.each(GOLDEN_FORMATS.flatMap((format) => DETAIL_LEVELS.map((detail) => [format, detail] as const)))(
    'in format %s with detail %s is the one of the golden file',
    (format, detail) => {
      for (const [index, tool] of GOLDEN_TOOLS.entries()) {
        const definition = JSON.stringify(definitionIn(format, detail, tool), null, 2);
        expect(definition).toBe(JSON.stringify(GOLDEN[format][index][detail], null, 2));
      }
    },
  );

  it.each(GOLDEN_FORMATS.flatMap((format) => DETAIL_LEVELS.map((detail) => [format, detail] as const)))(
    'of all tools together, in format %s with detail %s, is the one of the golden file',
    (format, detail) => {
      const slate = GOLDEN_TOOLS.map((tool) => ({ tool, definition: definitionIn(format, detail, tool) }));
      const { composed } = file(`../golden/definitions/${format}.json`);
      expect(JSON.stringify(composedDefinitions(format, slate))).toBe(JSON.stringify(composed?.[detail]));
    },
  );

  it('is in the one namespace of its server', () => {
    const tool = (name: string, server?: string) => ({
      tool: { name, description: '', inputSchema: {}, ...(server !== undefined && { server }) },
      definition: name,
    });
    const slate = [tool('a', 'mail box'), tool('b'), tool('c', 'crm'), tool('d', 'mail box')];
    expect(composedDefinitions('openai-responses', slate)).toMatchObject([
      { type: 'namespace', name: providerName('mail box'), tools: ['a', 'd'] },
      'b',
      { type: 'namespace', name: 'crm', description: 'Tools of crm.', tools: ['c'] },
    ]);
  });

  it('has what its provider demands at every level, for every tool of the sample catalog', () => {
    const { tools } = file('../../examples/sample-catalog/tools.json') as { tools: ToolDefinition[] };
    expect(tools.length).toBeGreaterThan(100);
    for (const tool of tools) {
      for (const [format, faultOf] of Object.entries(FAULTS)) {
        for (const detail of DETAIL_LEVELS) {
          const definition = definitionIn(format as SlateFormat, detail, tool);
          expect([tool.name, format, detail, faultOf(definition as never)]).toEqual([
            tool.name,
            format,
            detail,
            null,
          ]);
        }
      }
    }
  });

  it('of a tool without a schema takes any arguments when it is brief', () => {
    const tool = { name: 'a', description: 'b', inputSchema: {} };
    expect(definitionIn('mcp', 'brief', tool)).toEqual({
      name: 'a',
      description: 'b',
      inputSchema: { type: 'object', properties: {} },
    });
  });

  it('is, as text for a model, what the model gets of it', () => {
    const shown = { name: 'a', description: 'b', inputSchema: { type: 'object', properties: {} } };
    const tool = { ...shown, server: 's', tags: ['t'], icons: [{ src: 'x' }], _meta: { a: 'x' } };
    expect(JSON.parse(textForModel('mcp', 'full', tool))).toEqual(shown);
    expect(textForModel('names', 'full', tool)).toBe('a');
    const [reference, whole] = ['anthropic-tool-reference', 'anthropic'] as const;
    expect(textForModel(reference, 'full', tool)).toBe(textForModel(whole, 'full', tool));
  });

  it('takes fewer tokens the less detail it has', () => {
    const { tools } = file('../../examples/sample-catalog/tools.json') as { tools: ToolDefinition[] };
    const bytes = DETAIL_LEVELS.map((detail) =>
      tools.reduce((sum, tool) => sum + JSON.stringify(definitionIn('mcp', detail, tool)).length, 0),
    );
    expect(bytes[0] / bytes[1]).toBeLessThan(0.5);
    expect(bytes[1] / bytes[2]).toBeLessThan(0.9);
  });
});

/** Schemas whose tops have what providers refuse. */
function anySchema(depth: number): fc.Arbitrary<Record<string, unknown>> {
  const inner = depth === 0 ? fc.constant({}) : anySchema(depth - 1);
  const branches = fc.array(inner, { maxLength: 2 });
  return fc.record(
    {
      type: fc.constantFrom('object', 'string'),
      properties: fc.dictionary(fc.constantFrom('a', '$ref', 'anyOf'), inner, { maxKeys: 2 }),
      required: fc.subarray(['a', 'b']),
      anyOf: branches,
      oneOf: branches,
      allOf: branches,
      $ref: fc.constantFrom('#/$defs/x', '#/$defs/y', '#/none'),
      $defs: fc.record({ x: inner, y: inner }),
    },
    { requiredKeys: [] },
  );
}

const anyTool: fc.Arbitrary<ToolDefinition> = fc.record({
  name: fc.oneof(fc.string({ minLength: 1 }), fc.string({ minLength: 60, maxLength: 90 })),
  description: fc.string(),
  inputSchema: anySchema(2),
});

describe('the definition of any tool', () => {
  it('is one that every provider takes', () => {
    fc.assert(
      fc.property(anyTool, (tool) => {
        for (const format of ['openai', 'openai-responses', 'anthropic'] as const) {
          expect(FAULTS[format](definitionIn(format, 'full', tool) as never)).toBeNull();
        }
      }),
    );
  });

  it('takes the arguments that the tool takes', () => {
    const tool = GOLDEN_TOOLS[2];
    const { input_schema } = definitionIn('anthropic', 'full', tool) as { input_schema: Schema };
    expect(input_schema).toEqual({
      type: 'object',
      properties: {
        country: { type: 'string' },
        number: { type: 'string' },
        name: { type: 'string' },
        when: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
      },
      required: ['country'],
    });
  });

  it('is made quickly also of a schema whose references lead round in circles', () => {
    const names = Array.from({ length: 300 }, (_, n) => `d${n}`);
    const anyOf = names.map((name) => ({ $ref: `#/$defs/${name}` }));
    const $defs = Object.fromEntries(names.map((name) => [name, { anyOf, properties: { [name]: {} } }]));
    const { properties } = providerSchema({ anyOf, $defs }) as { properties: object };
    expect(Object.keys(properties)).toHaveLength(300);
  });

  it('names the alternatives of a property once each, and takes anything where there are very many', () => {
    const alternatives = (count: number) => {
      const oneOf = Array.from({ length: 2 * count }, (_, n) => ({
        properties: { a: { const: n % count } },
      }));
      return (providerSchema({ oneOf }) as { properties: { a: object } }).properties.a;
    };
    expect(alternatives(1)).toEqual({ const: 0 });
    expect(alternatives(3)).toEqual({ anyOf: [{ const: 0 }, { const: 1 }, { const: 2 }] });
    expect(alternatives(2300)).toEqual({});
  });
});

describe('a brief description', () => {
  it('is the description itself where that is one short paragraph', () => {
    expect(brief('')).toBe('');
    expect(brief('Gives the time')).toBe('Gives the time');
    expect(brief(' Gives\n the  time.\n')).toBe('Gives the time.');
  });

  it('ends with the first paragraph', () => {
    expect(brief('Gives the time.\n\nArgs:\n  zone: where')).toBe('Gives the time.');
    expect(brief('Gives the time.\r\n \r\nArgs:')).toBe('Gives the time.');
  });

  it('is as many whole sentences as fit in', () => {
    const first = 'Gives the time in a zone (e.g. Europe/Berlin, v2.5 of the table)!';
    const second = `Says "${'y'.repeat(BRIEF_DESCRIPTION - first.length - 9)}".`;
    expect(`${first} ${second}`).toHaveLength(BRIEF_DESCRIPTION);
    expect(brief(`${first} ${second} And more.`)).toBe(`${first} ${second}`);
    expect(brief(`${first} x${second} And more.`)).toBe(first);
    const japanese = '時刻を返します。';
    expect(brief(japanese.repeat(60))).toBe(japanese.repeat(BRIEF_DESCRIPTION / japanese.length));
  });

  it('is cut between two words where the first sentence is too long, and never through a character', () => {
    const long = brief('word '.repeat(100)) as string;
    expect(long).toBe(`${'word '.repeat(39)}word…`);
    expect(long.length).toBeLessThanOrEqual(BRIEF_DESCRIPTION);
    expect(brief('x'.repeat(500))).toBe(`${'x'.repeat(BRIEF_DESCRIPTION - 1)}…`);
    expect(brief(`x${'😀'.repeat(200)}`)).toBe(`x${'😀'.repeat(99)}…`);
    expect(brief('😀'.repeat(200))).toBe(`${'😀'.repeat(99)}…`);
  });
});
