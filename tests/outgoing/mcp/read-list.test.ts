import { describe, expect, it } from 'vitest';
import { McpError } from '../../../src/outgoing/mcp/mcp-connection.ts';
import { readList } from '../../../src/outgoing/mcp/read-list.ts';

const TOOLS = { method: 'tools/list', member: 'tools', key: 'name' };

type Page = Record<string, unknown> | McpError;

/** Reads pages that are answered in the order in which they are given, whatever is asked for. */
async function read(pages: Page[], changes: () => number = () => 0) {
  const asked: unknown[] = [];
  const said: string[] = [];
  const listed = await readList<{ name: string }>(TOOLS, {
    page: async (params) => {
      const page = pages[asked.length];
      asked.push(params);
      if (page instanceof McpError) throw page;
      return { kind: 'complete', result: page };
    },
    changes,
    log: (line) => said.push(line),
  });
  return { names: listed.items.map(({ name }) => name), ttlMs: listed.ttlMs, asked, said };
}

const page = (names: readonly string[], nextCursor?: string) => ({
  tools: names.map((name) => ({ name })),
  nextCursor,
});

describe('a list', () => {
  it('is whole, and current for as long as the shortest of its pages', async () => {
    const pages = [
      { ...page(['a'], '1'), ttlMs: 900 },
      { ...page(['b'], '2'), ttlMs: 300 },
      { ...page(['c'], ''), ttlMs: -1 },
    ];
    expect(await read(pages)).toMatchObject({
      names: ['a', 'b', 'c'],
      ttlMs: 300,
      asked: [{}, { cursor: '1' }, { cursor: '2' }],
    });
  });

  it('leaves out entries that have no name, and says so', async () => {
    const { names, said } = await read([{ tools: [{ name: 'a' }, { title: 'b' }, null, 7] }]);
    expect(names).toEqual(['a']);
    expect(said).toHaveLength(3);
  });

  it('is read again when it changes meanwhile, names an entry twice or refuses a cursor', async () => {
    let announced = 0;
    const changing = read([page(['a']), page(['a', 'b'])], () => Math.min(announced++, 1));
    expect((await changing).names).toEqual(['a', 'b']);
    const doubled = await read([page(['a'], '1'), page(['a']), page(['a'], '1'), page(['b'])]);
    expect(doubled).toMatchObject({ names: ['a', 'b'], said: [] });
    const refused = new McpError('protocol', 'no such cursor', { code: -32_602 });
    expect((await read([page(['a'], '1'), refused, page(['b'])])).names).toEqual(['b']);
  });

  it('is taken as it came at the fourth reading', async () => {
    let announced = 0;
    const restless = await read(
      Array.from({ length: 4 }, () => page(['a', 'a'])),
      () => announced++,
    );
    expect(restless).toMatchObject({ names: ['a'], asked: [{}, {}, {}, {}] });
    expect(restless.said).toEqual(['tools/list names 1 entries twice; the first of each is taken']);
    const refused = new McpError('protocol', 'no', { code: -32_602 });
    await expect(read([refused, refused, refused, refused])).rejects.toBe(refused);
  });

  it.each([
    ['the same page again', [page(['a'], '1'), page(['b'], '1')]],
    ['a page without entries', [{ nextCursor: '1' }]],
    ['more than 64 MB', [page(['a'.repeat(33_000_000)], '1'), page(['b'.repeat(33_000_000)])]],
    ['more than 10,000 entries', [page(Array.from({ length: 10_001 }, (_, i) => `tool-${i}`))]],
  ])('that gives %s is refused', async (_, pages) => {
    await expect(read(pages)).rejects.toMatchObject({ failure: 'nonsense' });
  });

  it('fails by what its server answers', async () => {
    const error = new McpError('closed', 'gone');
    await expect(read([page(['a'], '1'), error])).rejects.toBe(error);
  });
});
