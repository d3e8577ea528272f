import { describe, expect, it } from 'vitest';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import { denseText, lexicalText, rerankText } from '../../src/retrieval/document-text.ts';

const tool = (inputSchema: Record<string, unknown>, more: Partial<ToolDefinition> = {}): ToolDefinition => ({
  name: 'send_mail',
  description: 'Sends a mail.',
  inputSchema,
  ...more,
});

const lines = (definition: ToolDefinition): string[] => lexicalText(definition).split('\n').filter(Boolean);

describe('denseText', () => {
  it.each([
    ['getUserInfo', 'get User Info'],
    ['get_user-info', 'get user info'],
    ['users.messages/get', 'users messages get'],
    ['HTTPServerList', 'HTTP Server List'],
    ['plain', 'plain'],
  ])('separates the words of %s', (name, words) => {
    expect(denseText(tool({}, { name }))).toBe(`${words}: Sends a mail.`);
  });

  it('has no examples, and no title', () => {
    expect(denseText(tool({}, { examples: ['write to Ada'], title: 'Mail' }))).toBe(denseText(tool({})));
  });

  it.each([
    ['Sends a mail.\n\nNeeds the scope `mail`.', 'Sends a mail.'],
    ['\n  Sends a mail.\r\n \t\r\nNeeds the scope `mail`.', 'Sends a mail.'],
    ['Sends a mail,\nnow or later.\n\n\nLimits', 'Sends a mail,\nnow or later.'],
    ['Sends a mail,\nnow or later.', 'Sends a mail,\nnow or later.'],
    [`${'Sends a mail. '.repeat(200)}Done.`, `${'Sends a mail. '.repeat(200)}Done.`],
    ['# Mail\n\n## Sending\n\nSends a mail.\n\nLimits', '# Mail\n\n## Sending\n\nSends a mail.'],
    ['# Mail', '# Mail'],
    ['', ''],
  ])('has the first paragraph of %j, and the reranker all of it', (description, paragraph) => {
    const long = tool({}, { description });
    expect(denseText(long)).toBe(`send mail: ${paragraph}`);
    expect(rerankText(long)).toBe(`send mail: ${description}`);
    expect(lexicalText(long)).toContain(description);
  });
});

describe('lexicalText', () => {
  it('has server, tags, name, title, description and examples', () => {
    const more = {
      server: 'mail',
      tags: ['work', 'text'],
      title: 'Mail',
      examples: ['write to Ada', 'tell them'],
    };
    expect(lines(tool({}, more))).toEqual([
      ...['mail', 'work', 'text', 'send_mail', 'Mail', 'Sends a mail.', 'write to Ada', 'tell them'],
    ]);
  });

  it('has what is known about calls, and no negative example, which no other text of a tool has either', () => {
    const more = {
      preconditions: ['the address is known'],
      postconditions: ['the mail is on its way'],
      failureModes: ['the mailbox is full'],
      exemplars: [{ query: 'write to Ada', arguments: { to: 'a word of an argument' } }],
      negativeExamples: ['read my mails'],
    };
    expect(lines(tool({}, more))).toEqual([
      ...['send_mail', 'Sends a mail.', 'write to Ada'],
      ...['the address is known', 'the mail is on its way', 'the mailbox is full'],
    ]);
    expect(denseText(tool({}, more))).toBe(denseText(tool({})));
    expect(rerankText(tool({}, more))).toBe(rerankText(tool({})));
  });

  it('has the names and descriptions of parameters, however deep they are', () => {
    const schema = {
      type: 'object',
      description: 'not a parameter',
      properties: {
        to: {
          type: 'array',
          description: 'Who gets it',
          items: { properties: { address: { type: 'string' } } },
        },
        body: { anyOf: [{ type: 'string', description: 'Plain text' }, { properties: { html: {} } }] },
        files: {
          prefixItems: [{ properties: { path: {} } }],
          additionalProperties: { properties: { more: {} } },
        },
      },
    };
    expect(new Set(lines(tool(schema)).slice(2))).toEqual(
      new Set(['to', 'Who gets it', 'address', 'body', 'Plain text', 'html', 'files', 'path', 'more']),
    );
  });

  it('follows references within the schema, in circles only once', () => {
    const schema = {
      properties: { root: { $ref: '#/$defs/node' }, odd: { $ref: '#/$defs/a~1b~0c' } },
      $defs: {
        node: { properties: { label: { description: 'Its label' }, next: { $ref: '#/$defs/node' } } },
        'a/b~c': { description: 'Escaped' },
      },
    };
    expect(lines(tool(schema)).slice(2)).toEqual(['root', 'odd', 'label', 'next', 'Escaped', 'Its label']);
  });

  it('is not impressed by odd schemas', () => {
    for (const schema of [
      { properties: null },
      { properties: { a: 1, b: null, c: [] } },
      { properties: { $ref: 5 } },
      { $ref: '#' },
      { $ref: 'https://example.org/schema.json' },
      { $ref: '#/__proto__/constructor' },
      { items: [{ $ref: '#/items/0' }] },
      { anyOf: 'x', description: 7 },
    ]) {
      expect(() => lexicalText(tool(schema))).not.toThrow();
    }
    expect(lines(tool(JSON.parse('{"properties":{"__proto__":{"description":"mine"}}}')))).toContain('mine');
  });

  it('stays small for schemas that fan out or go deep', () => {
    const wide = { properties: Object.fromEntries(Array.from({ length: 130_000 }, (_, i) => [`p${i}`, {}])) };
    expect(lines(tool(wide)).length).toBeLessThan(5_000);
    let deep: Record<string, unknown> = {};
    for (let i = 0; i < 10_000; i++) deep = { properties: { [`level${i}`]: deep } };
    expect(lines(tool(deep)).length).toBeLessThan(20);
    const level = (n: number) => ({
      anyOf: Array.from({ length: 10 }, () => ({ $ref: `#/$defs/d${n + 1}` })),
    });
    const fan = {
      ...level(0),
      $defs: Object.fromEntries([1, 2, 3, 4, 5, 6, 7].map((n) => [`d${n}`, level(n)])),
    };
    expect(lines(tool(fan))).toHaveLength(2);
  });
});
