// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are what is tested
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expandAddress, readMcpConfig } from '../../src/gateway/read-mcp-config.ts';

const servers = (value: unknown) => readMcpConfig(JSON.stringify(value), 'mcp.json').servers;

describe('a configuration', () => {
  it('of Claude Desktop, Claude Code or Cursor has mcpServers', () => {
    const env = { TOKEN: '${TOKEN}', PORT: 5 };
    expect(
      servers({
        mcpServers: {
          files: { command: 'npx', args: ['-y', 'x'], env },
          web: {
            type: 'http',
            url: 'https://example.com/mcp',
            headers: { Authorization: 'Bearer ${env:KEY}' },
          },
        },
      }),
    ).toEqual([
      {
        name: 'files',
        address: { command: 'npx', args: ['-y', 'x'], env: { TOKEN: '${TOKEN}', PORT: '5' } },
        eager: false,
      },
      {
        name: 'web',
        address: { url: 'https://example.com/mcp', headers: { Authorization: 'Bearer ${env:KEY}' } },
        eager: false,
      },
    ]);
  });

  it('of VS Code has servers, comments and trailing commas', () => {
    const text = `{
      // the servers "of" our project
      "servers": { /* one */ "a": {"type": "stdio", "command": "say, ]", "args": ["http://x", ], "eager": true,}, },
    }`;
    expect(readMcpConfig(text, '.vscode/mcp.json').servers).toEqual([
      { name: 'a', address: { command: 'say, ]', args: ['http://x'] }, eager: true },
    ]);
    expect(servers({ mcp: { servers: { a: { command: 'x' } } } })).toHaveLength(1);
  });

  it('says what it leaves out', () => {
    const { servers: kept, notes } = readMcpConfig(
      JSON.stringify({
        mcpServers: { a: { type: 'sse', url: 'https://x' }, b: { command: 'x', disabled: true } },
      }),
      'mcp.json',
    );
    expect(kept).toEqual([]);
    expect(notes).toEqual([
      expect.stringContaining('"a" speaks SSE'),
      expect.stringContaining('"b" is disabled'),
    ]);
  });

  it.each([
    ['{', 'is no JSON'],
    ['[]', 'names no servers'],
  ])('%s is refused with a sentence', (text, sentence) => {
    expect(() => readMcpConfig(text, 'mcp.json')).toThrow(sentence);
  });

  it.each([
    ['5', '"a" is left out, since it is no object'],
    ['{"comand": "x"}', 'needs "command" (a program) or "url"'],
    ['{"command": "x", "url": "y"}', 'both'],
    ['{"command": "x", "args": "y"}', '"args" needs a list'],
    ['{"command": "x", "env": {"A": {}}}', '"A" needs a text'],
  ])('is served without %s', (entry, sentence) => {
    const { servers, notes } = readMcpConfig(
      `{"mcpServers": {"a": ${entry}, "b": {"command": "x"}}}`,
      'mcp.json',
    );
    expect(servers.map(({ name }) => name)).toEqual(['b']);
    expect(notes).toEqual([expect.stringContaining(sentence)]);
    expect(notes[0]).toContain('left out');
  });

  it('is JSON as it was, where it has no comments', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.record({ command: fc.string({ minLength: 1 }) })),
        (mcpServers) => {
          for (const text of [JSON.stringify({ mcpServers }), JSON.stringify({ mcpServers }, null, 2)]) {
            const read = readMcpConfig(text, 'mcp.json').servers.map(({ name, address }) => [name, address]);
            expect(read).toEqual(
              Object.entries(mcpServers).map(([name, { command }]) => [name, { command, args: [] }]),
            );
          }
        },
      ),
    );
  });
});

describe('references', () => {
  const variables = {
    variable: (name: string) => ({ KEY: 'k', EMPTY: '' })[name],
    home: '/home/ada',
    file: '/work/project/.vscode/mcp.json',
  };
  const expanded = (text: string) => expandAddress({ command: 'x', args: [text] }, 's', variables);

  it.each([
    ['${KEY}-${env:KEY}', 'k-k'],
    ['${NONE:-d}${KEY:-d}${EMPTY:-e}', 'dke'],
    ['${userHome} ${workspaceFolder}', '/home/ada /work/project'],
    ['$KEY ${a b} ${', '$KEY ${a b} ${'],
  ])('%s is %s', (text, value) => expect(expanded(text)).toMatchObject({ args: [value] }));

  it('to what is not there say so', () => {
    expect(() => expanded('${NONE}')).toThrow(
      'Server "s" needs the environment variable NONE, which is not set.',
    );
    expect(() => expanded('${input:api-key}')).toThrow('${env:API_KEY}');
    const headers = { Authorization: 'Bearer ${NONE}' };
    expect(() => expandAddress({ url: 'https://x', headers }, 's', variables)).toThrow('NONE');
  });
});
