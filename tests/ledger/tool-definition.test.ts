import { describe, expect, test } from 'vitest';
import { definitionTokens, tokensOf } from '../../src/ledger/tool-definition.ts';

describe('the token count', () => {
  test('is a quarter of the bytes of the JSON, rounded up', () => {
    expect(tokensOf('ab')).toBe(1);
    expect(tokensOf('abc')).toBe(2);
  });

  test('counts bytes and not characters, so that text in other scripts does not look cheap', () => {
    expect(tokensOf('日本語日本語')).toBe(5);
  });

  test('of a definition leaves out what a model is not shown', () => {
    const shown = { name: 'a', description: 'b', inputSchema: {} };
    const tool = {
      ...shown,
      server: 's',
      text: 't',
      tags: ['x'],
      examples: ['an example'],
      metadata: { more: true },
    };
    expect(definitionTokens(tool)).toBe(tokensOf(shown));
  });
});
