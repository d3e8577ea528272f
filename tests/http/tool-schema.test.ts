import { describe, expect, it } from 'vitest';
import { toolSchema } from '../../src/http/wire/tool.ts';
import { definitionHash } from '../../src/ledger/definition-hash.ts';
import { denseText } from '../../src/retrieval/document-text.ts';

const TOOL = { name: 'close_case', description: 'Close a case.', inputSchema: { type: 'object' } };
/** A change of each of these is another definition of the tool. */
const MEMBERS = {
  title: 'Close',
  outputSchema: { type: 'object' },
  annotations: { destructiveHint: true },
  icons: [{ src: 'https://example.com/icon.svg' }],
  execution: { taskSupport: 'required' },
  _meta: { 'example.com/owner': 'support' },
  kind: 'skill',
  server: 'archive',
  tags: ['cases'],
  examples: ['this one is done'],
  preconditions: ['every task of the case is done'],
  postconditions: ['nobody can add to it'],
  failureModes: ['it has open tasks: close them first'],
  exemplars: [{ query: 'this one is done', arguments: { case: 7 }, result: 'closed' }],
  negativeExamples: ['open it again'],
  metadata: { team: 'support' },
  cost: { cents: 2 },
  'x-of-later': null,
} as const;

describe('a tool over HTTP', () => {
  it('keeps every member of an MCP tool, and those that nobody knows yet', () => {
    expect(toolSchema.parse({ ...TOOL, ...MEMBERS })).toEqual({ ...TOOL, ...MEMBERS });
  });

  it('needs no description, as in MCP', () => {
    const { description: _, ...without } = TOOL;
    expect(toolSchema.parse(without)).toEqual({ ...TOOL, description: '' });
  });

  it('is taken as it was answered', () => {
    const added = { providerName: 'close_case', definitionHash: '0f', addedAt: '2026-11-22T00:00:00Z' };
    expect(toolSchema.parse({ ...TOOL, title: 'Close', ...added })).toEqual({ ...TOOL, title: 'Close' });
  });

  it.each([
    ['a long icon', { icons: [{ src: 'x'.repeat(300_000) }], title: 'Close' }, 'icons'],
    ['several long members', { later: 'x'.repeat(150_000), _meta: { a: 'x'.repeat(140_000) } }, 'later'],
    [
      'a deep member',
      { outputSchema: JSON.parse(`${'{"a":'.repeat(66)}1${'}'.repeat(66)}`) },
      'outputSchema',
    ],
    ['a title that is a number', { title: 7 }, 'title'],
    ['a kind that there is not', { kind: 'function' }, 'kind'],
  ])('with %s is refused, and the member named', (_, members, path) => {
    const { error } = toolSchema.safeParse({ ...TOOL, ...members });
    expect(error?.issues.map((issue) => issue.path.join('.'))).toEqual([path]);
  });
});

describe('the definition hash', () => {
  it.each(Object.entries(MEMBERS))(
    'changes with `%s`, and the text that is embedded does not',
    (member, value) => {
      const changed = { ...TOOL, [member]: value } as never;
      expect(definitionHash(changed)).not.toBe(definitionHash(TOOL));
      expect(denseText(changed)).toBe(denseText(TOOL));
    },
  );

  it('does not change with `replaces`', () => {
    expect(definitionHash({ ...TOOL, replaces: ['close'] })).toBe(definitionHash(TOOL));
  });
});
