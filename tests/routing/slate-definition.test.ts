import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { SLATE_FORMATS, type SlateFormat } from '../../src/decisions/decision.ts';
import { DETAIL_LEVELS } from '../../src/ledger/catalog-settings.ts';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import { BRIEF_DESCRIPTION, definitionIn } from '../../src/routing/slate-definition.ts';
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
    type === 'function' && typeof name === 'string' ? argumentFault(parameters) : 'type or name',
  // https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use
  anthropic: ({ name, input_schema }: { name: string; input_schema: Schema }) =>
    typeof name === 'string' ? argumentFault(input_schema) : 'name',
};
type Schema = Readonly<Record<string, unknown>>;
interface OpenAiTool {
  readonly type: string;
  readonly function: { readonly name: string; readonly parameters: Schema };
}

function argumentFault(schema: Schema): string | null {
  if (schema.type !== 'object' || typeof schema.properties !== 'object') return 'no object with properties';
  return schemaFaults(schema)[0] ?? null;
}

describe('a definition', () => {
  it.each(SLATE_FORMATS.flatMap((format) => DETAIL_LEVELS.map((detail) => [format, detail] as const)))(
    'in format %s with detail %s is the one of the golden file',
    (format, detail) => {
      const { tool, definitions } = file('../golden/slate-definitions.json');
      const definition = JSON.stringify(definitionIn(format, detail, tool), null, 2);
      const golden = definitions[format]?.[detail];
      expect(definition).toBe(golden === undefined ? undefined : JSON.stringify(golden, null, 2));
    },
  );

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

  it('takes fewer tokens the less detail it has', () => {
    const { tools } = file('../../examples/sample-catalog/tools.json') as { tools: ToolDefinition[] };
    const bytes = DETAIL_LEVELS.map((detail) =>
      tools.reduce((sum, tool) => sum + JSON.stringify(definitionIn('mcp', detail, tool)).length, 0),
    );
    expect(bytes[0] / bytes[1]).toBeLessThan(0.5);
    expect(bytes[1] / bytes[2]).toBeLessThan(0.9);
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
