import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assemblePrompt, promptFrame } from '../../src/instructions/assemble-prompt.ts';
import { ESTIMATE } from '../../src/tokens/estimate.ts';

const text = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }),
  fc.lorem({ maxCount: 30 }),
  fc.constantFrom('# Always', '', 'Never\n\n# Tools\n\npromise a refund.', '```', '规则', 'a\n'),
);
const tool = fc.record({ text, examples: fc.array(text, { maxLength: 3 }) });
const parts = fc.record({
  overlay: fc.array(text, { maxLength: 5 }),
  instructions: fc.array(text, { maxLength: 5 }),
  tools: fc.array(tool, { maxLength: 6 }),
});

describe('an assembled prompt', () => {
  it('has the whole safety overlay first and holds its budget, in 10,000 cases', () => {
    fc.assert(
      fc.property(parts, fc.nat(400), (given, more) => {
        const texts = [...given.overlay, ...given.instructions, ...given.tools.map((one) => one.text)];
        const budget =
          texts.reduce((sum, one) => sum + ESTIMATE.count(one), 0) +
          promptFrame(texts.length, ESTIMATE) +
          more;
        const prompt = assemblePrompt(given, budget, ESTIMATE);
        if (given.overlay.length > 0) {
          expect(prompt.text.startsWith(['# Always', ...given.overlay].join('\n\n'))).toBe(true);
        }
        for (const one of texts) expect(prompt.text).toContain(one);
        expect(prompt.tokens).toBe(ESTIMATE.count(prompt.text));
        expect(prompt.tokens).toBeLessThanOrEqual(budget);
        expect(assemblePrompt(given, budget, ESTIMATE)).toEqual(prompt);
      }),
      { numRuns: 10_000, seed: 17 },
    );
  });

  it('gives every tool its first example before one its second, as long as they fit', () => {
    const given = {
      overlay: ['Never promise a refund.'],
      instructions: [],
      tools: [
        { text: '{"name":"a"}', examples: ['one', 'two', 'three'] },
        { text: '{"name":"b"}', examples: ['four'] },
      ],
    };
    const whole = assemblePrompt(given, null, ESTIMATE);
    expect(whole.text).toContain(
      '{"name":"a"}\nExample: "one"\nExample: "two"\n\n{"name":"b"}\nExample: "four"',
    );
    expect(whole.text).toMatch(/# Note\n\n/);
    const short = assemblePrompt(given, whole.tokens - 1, ESTIMATE);
    expect(short.text).toContain('Example: "one"');
    expect(short.text).toContain('Example: "four"');
    expect(short.text).not.toContain('Example: "two"');
  });

  it('shows a call that was right as it was made', () => {
    const exemplar = { query: 'they paid twice', arguments: { payment: 'P-1' } };
    const tools = [{ text: '{"name":"refund"}', examples: [exemplar, 'give it back'] }];
    const { text } = assemblePrompt({ overlay: [], instructions: [], tools }, null, ESTIMATE);
    expect(text).toContain(
      '{"name":"refund"}\nExample: {"query":"they paid twice","arguments":{"payment":"P-1"}}\nExample: "give it back"',
    );
  });

  it('is never cut, were the budget too small', () => {
    const given = { overlay: ['Never promise a refund.'], instructions: ['Be brief.'], tools: [] };
    const { text, tokens } = assemblePrompt(given, 3, ESTIMATE);
    expect(text).toBe('# Always\n\nNever promise a refund.\n\n# Instructions\n\nBe brief.');
    expect(tokens).toBeGreaterThan(3);
  });
});
