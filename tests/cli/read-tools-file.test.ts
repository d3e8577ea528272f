import { describe, expect, it } from 'vitest';
import { readToolsFile } from '../../src/cli/read-tools-file.ts';
import { UserError } from '../../src/cli/terminal.ts';

const schema = { type: 'object', properties: { city: { type: 'string' } } };
const expected = [{ name: 'get_weather', description: 'Weather.', inputSchema: schema }];

const ours = { name: 'get_weather', description: 'Weather.', inputSchema: schema };
const openai = {
  type: 'function',
  function: { name: 'get_weather', description: 'Weather.', parameters: schema, strict: true },
};
const openaiFlat = { type: 'function', name: 'get_weather', description: 'Weather.', parameters: schema };
const anthropic = { name: 'get_weather', description: 'Weather.', input_schema: schema };

describe('readToolsFile', () => {
  it.each<[string, unknown]>([
    ['our own shape', { tools: [ours] }],
    ['an MCP tools/list result', { tools: [ours], nextCursor: 'x' }],
    ['its JSON-RPC envelope', { jsonrpc: '2.0', id: 1, result: { tools: [ours] } }],
    ['OpenAI function tools', [openai]],
    ['OpenAI function tools, flat', { tools: [openaiFlat] }],
    ['OpenAI functions of old', { functions: [openaiFlat] }],
    ['Anthropic tools', [anthropic]],
    ['an object of tools by name', { get_weather: { description: 'Weather.', parameters: schema } }],
    [
      'tools by name under `tools`',
      { tools: { get_weather: { description: 'Weather.', parameters: schema } } },
    ],
    ['a single tool', ours],
    ['a single OpenAI tool', openai],
  ])('reads %s', (_, file) => {
    expect(readToolsFile(JSON.stringify(file)).tools).toEqual(expected);
    expect(readToolsFile(JSON.stringify(file, null, 2)).tools).toEqual(expected);
  });

  it('reads JSON lines, blank ones among them', () => {
    const lines = [ours, { ...anthropic, name: 'other' }].map((tool) => JSON.stringify(tool));
    const { tools } = readToolsFile(`${lines.join('\r\n\n')}\n`);
    expect(tools.map(({ name }) => name)).toEqual(['get_weather', 'other']);
  });

  it('keeps what belongs to our shape and names what does not', () => {
    const tool = { ...ours, server: 'weather', tags: ['a'], replaces: ['old'], annotations: {}, title: 'T' };
    const { tools, ignored } = readToolsFile(JSON.stringify([tool]), 'github');
    expect(tools).toEqual([{ ...ours, server: 'weather', tags: ['a'], replaces: ['old'] }]);
    expect([...ignored].sort()).toEqual(['annotations', 'title']);
    expect(readToolsFile(JSON.stringify([ours]), 'github').tools[0].server).toBe('github');
  });

  it('fills in what a tool may lack', () => {
    expect(readToolsFile('[{"name": "ping", "parameters": null}]').tools).toEqual([
      { name: 'ping', description: '', inputSchema: { type: 'object' } },
    ]);
  });

  it.each([
    ['', /not JSON/],
    ['{"tools": [', /not JSON/],
    ['{"name": "a"}\n{"name": ', /line 2/],
    ['[]', /no tools/],
    ['7', /an array, or an object/],
    ['[{"description": "x"}]', /number 1 has no name/],
    ['["text"]', /number 1 has no name/],
    ['{"error": "unauthorized", "status": 401}', /holds no tools.*"error", "status".*"error" has neither/],
    [
      '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}}',
      /JSON-RPC error.*Method not found/,
    ],
    ['{"jsonrpc": "2.0", "id": 1, "result": {"resources": []}}', /`result`.*no `tools`/],
    ['{"tools": {}}', /no tools/],
    ['{"tools": null}', /tools holds no tools, it is null/],
    ['{"tools": {"error": {"message": "no"}}}', /tools holds no tools/],
    ['{"get_weather": {"description": "Weather."}, "note": {"text": "x"}}', /"note" has neither/],
    ['[{"name": "a", "parameters": []}]', /schema of "a"/],
    ['[{"name": "a"}, {"name": "b"}, {"name": "a"}]', /1 tools have a name .*"a"/],
  ])('says what is wrong with %j', (text, sentence) => {
    expect(() => readToolsFile(text)).toThrow(UserError);
    expect(() => readToolsFile(text)).toThrow(sentence);
  });
});
