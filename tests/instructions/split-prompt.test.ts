import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitPrompt } from '../../src/instructions/split-prompt.ts';

/** One token per word. */
const count = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length;
const split = (prompt: string) => splitPrompt(prompt, count);
const words = (number: number, word = 'word'): string => Array(number).fill(word).join(' ');

const [KNOWN, HELD_OUT] = readFileSync(new URL('guessed-kinds.txt', import.meta.url), 'utf8')
  .split('\n\n')
  .map((group) => {
    const lines = group.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return lines.map((line) => line.split(' | ').map((one) => one.replaceAll('\\n', '\n')));
  });

/** The kind of a text under these headings, in a prompt with a title and another section. */
function guessed(path: string, body: string): string | undefined {
  const [title, ...headings] = path.split(' > ');
  const lines = headings.map((one, i) => (one.startsWith('<') ? one : `${'#'.repeat(i + 2)} ${one}`));
  const units = split([`# ${title}`, ...lines, body, '## Parking', 'Cars stand in the yard.'].join('\n\n'));
  return units.find(({ text }) => text.includes(body))?.kind;
}

describe('splitting a prompt', () => {
  it('makes a unit of each section that fits, with its heading, and the path of its headings', () => {
    const prompt = `# Shop\n\nIntro ${words(300)}.\n\n## Refunds\n\n${words(250)}\n\n### Limits\n\n${words(100)}\n\n## Parcels\n\n${words(500)}`;
    const units = split(prompt);
    expect(units.map(({ path }) => path)).toEqual([['Shop'], ['Shop', 'Refunds'], ['Shop', 'Parcels']]);
    expect(units[1].text).toBe(`## Refunds\n\n${words(250)}\n\n### Limits\n\n${words(100)}`);
    expect(units[1].tokens).toBe(354);
  });

  it('puts short neighbours of one kind together, and leaves other kinds alone', () => {
    const sections = Array.from({ length: 12 }, (_, i) => `## Topic ${i}\n\n${words(90)}`);
    const prompt = [...sections, `## Safety\n\n${words(90)}`].join('\n\n');
    const units = split(prompt);
    expect(units.map(({ tokens }) => tokens)).toEqual([279, 279, 279, 279, 92]);
    expect(units.at(-1)).toMatchObject({ kind: 'safety', path: ['Safety'] });
  });

  it('divides a long section at its paragraphs, each part under its heading', () => {
    const paragraphs = Array.from({ length: 9 }, (_, i) => words(100, `p${i}`));
    const units = split(`## Rules\n\n${paragraphs.join('\n\n')}`);
    expect(units.map(({ tokens }) => tokens)).toEqual([202, 202, 202, 202, 102]);
    for (const { text, path } of units) {
      expect(text.startsWith('## Rules\n\n')).toBe(true);
      expect(path).toEqual(['Rules']);
    }
  });

  it('repeats what announces a list in every part of it, and keeps the two together', () => {
    const items = Array.from({ length: 10 }, (_, i) => `- item ${i} ${words(98)}`);
    const units = split(`${words(250)}\n\nNever do this:\n\n${items.join('\n')}`);
    expect(units.length).toBeGreaterThan(3);
    for (const { text } of units.filter((one) => one.text.includes('- item'))) {
      expect(text.indexOf('Never do this:')).toBeGreaterThanOrEqual(0);
      expect(text.indexOf('Never do this:')).toBeLessThan(text.indexOf('- item'));
    }
    expect(units.find(({ text }) => /Never do this:$/.test(text))).toBeUndefined();
  });

  it('never tears code, tables and list items with what belongs to them', () => {
    const code = `\`\`\`python\n# no heading\n\n${words(900)}\n- no item\n\`\`\``;
    const table = `| a | b |\n|---|---|\n${`| ${words(20)} | x |\n`.repeat(60)}`.trimEnd();
    const item = `- first ${words(300)}\n\n  \`\`\`\n  inner ${words(400)}\n  # no heading\n  \`\`\`\n\n  goes on`;
    const units = split(`# A\n\n${words(250)}\n\n${code}\n\n${table}\n\n${item}\n- second`);
    for (const whole of [code, table, item]) {
      expect(units.filter(({ text }) => text.includes(whole))).toHaveLength(1);
    }
    expect(units.every(({ path }) => path.join() === 'A')).toBe(true);
  });

  it('takes tags that stand alone, and underlined lines, as headings', () => {
    const prompt = `<tone>\n${words(300)}\n</tone>\n\nOrders\n======\n\n${words(400)}\n\nReturns\n-------\n\n${words(300)}`;
    const units = split(prompt);
    expect(units.map(({ path }) => path)).toEqual([['tone'], ['Orders'], ['Orders', 'Returns']]);
    expect(units[0]).toMatchObject({ kind: 'style', text: `<tone>\n\n${words(300)}\n</tone>` });
  });

  it('divides a paragraph without end at its sentences', () => {
    const sentence = `${words(50, 'Word')}.`;
    const units = split(Array(30).fill(sentence).join(' '));
    expect(units.map(({ tokens }) => tokens)).toEqual([200, 200, 200, 200, 200, 200, 200, 100]);
  });

  it('guesses kinds from headings, then from words', () => {
    const kinds = (prompt: string) => split(prompt).map(({ kind }) => kind);
    expect(kinds('You are a support agent of a shop.')).toEqual(['role']);
    expect(kinds('Never ask for passwords or card numbers.')).toEqual(['safety']);
    expect(kinds('# Tone\n\nBe short.')).toEqual(['style']);
    expect(kinds('# Examples\n\nUser: where is it?\nAgent: on its way.')).toEqual(['exemplar']);
    expect(kinds('Refunds above 100 EUR need a manager.')).toEqual(['policy']);
    expect(kinds('# Refunds\n\n## Legal\n\nKeep invoices for ten years.')).toEqual(['safety']);
  });

  it.each(KNOWN)('guesses %s for "%s": %s', (kind, path, body) => {
    expect(guessed(path, body)).toBe(kind);
  });

  it('guesses nine in ten of those that it was not fitted to', () => {
    expect(HELD_OUT.length).toBeGreaterThan(50);
    const right = HELD_OUT.filter(([kind, path, body]) => guessed(path, body) === kind);
    expect(right.length / HELD_OUT.length).toBeGreaterThan(0.9);
  });

  it('does not guess from the title of a prompt, unless there is nothing else', () => {
    const sections = ['Refunds', 'Parcels'].map((one) => `## ${one}\n\n${words(300)}`).join('\n\n');
    for (const title of ['Support agent of Sample Shop', 'Examples of tone', 'Security desk', 'Your role']) {
      const kinds = split(`# ${title}\n\nYou are a support agent.\n\n${sections}`).map(({ kind }) => kind);
      expect(kinds).toEqual(['role', 'policy', 'policy']);
    }
    expect(split('# Security desk\n\nYou are a support agent.')[0].kind).toBe('role');
    expect(split('# Safety\n\nLeave when it burns.')[0].kind).toBe('safety');
  });

  it('has nothing to split in a prompt without text', () => {
    for (const nothing of ['', ' \n\n']) expect(split(nothing)).toEqual([]);
  });

  it('keeps a rule that is a heading, and a sentence with a line below it', () => {
    const units = split('# Shop\n\n## Never give legal advice\n\n# Other\n\nBe kind.\n---\nBe short.');
    const told = units.map(({ text }) => text).join('\n');
    for (const one of ['Never give legal advice', 'Be kind.', 'Be short.']) expect(told).toContain(one);
  });

  it('keeps every line of any prompt, whatever it looks like', () => {
    const line = fc.oneof(
      fc.constantFrom('', '# One', '## Two', '- item', '1. first', '```', '~~~', '| a | b |', '|---|---|'),
      fc.constantFrom('  indented', 'Heads:', '===', '---', '<rules>', '</rules>', 'A sentence'),
      fc.nat(300).map((number) => words(number + 1)),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 30 }), (lines) => {
        const told = split(lines.join('\n'))
          .flatMap(({ path, text }) => [...path, text])
          .join(' ')
          .replace(/\s+/g, ' ');
        for (const one of lines) {
          // Marks of headings that are in a path alone.
          if (/^(#|<|=|-{3})/.test(one)) continue;
          expect(told).toContain(one.trim());
        }
      }),
    );
  });
});
