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
    expect(units[0]).toMatchObject({ kind: 'style', text: `<tone>\n${words(300)}\n</tone>` });
  });

  it('keeps text after a tag in its place, below the heading that the tag stands in', () => {
    const refunds =
      '# Refund policy\n<limits>\nUp to 200 EUR: clerk.\n</limits>\n\nAlways ask for the order number first.';
    const shipping = '# Shipping policy\n<carriers>\nDHL\n</carriers>\n\nNever ship on Sundays.';
    expect(split(`${refunds}\n\n${shipping}`).map(({ text }) => text)).toEqual([refunds, shipping]);
    const nested =
      '<system_prompt>\n\n<rules>\n# Refunds\n\nUp to 200 EUR.\n</rules>\n\nMore text.\n\n</system_prompt>';
    expect(split(nested).map(({ text }) => text)).toEqual([nested]);
  });

  it('begins every unit with all headings above it, which may turn its sense around, except a mere title', () => {
    const chapters = `## Payments\n\n${words(300, 'pay')}\n\n## Mail\n\n${words(400, 'mail')}`;
    const never = '# What you must never do';
    for (const prompt of [
      `${never}\n\n${chapters}\n\n# More\n\nText.`,
      `${never}\n\nTruly.\n\n${chapters}`,
    ]) {
      const units = split(prompt).filter(({ text }) => /pay|mail/.test(text));
      expect(units).toHaveLength(2);
      for (const { text } of units) expect(text.startsWith(`${never}\n\n`)).toBe(true);
    }
    const [intro, ...titled] = split(`# Shop\n\n${words(250)}\n\n${chapters}`);
    expect(intro.text).toBe(`# Shop\n\n${words(250)}`);
    expect(titled.map(({ text }) => text.split('\n')[0])).toEqual(['## Payments', '## Mail']);
    const deep = split(`# A\n\n## B\n\n### C\n\n${words(500)}\n\n${words(500)}\n\n# D\n\nText.`);
    for (const { text } of deep.slice(0, 2))
      expect(text.startsWith('# A\n\n## B\n\n### C\n\nword')).toBe(true);
    const rules = split(`<rules>\n${words(500)}\n\n${words(500)}\n</rules>`);
    for (const { text } of rules) expect(text).toMatch(/^<rules>\n+word[\s\S]*word\n<\/rules>$/);
  });

  it('joins short sections below one heading only, and names them', () => {
    const prompt = `# Guide\n\n## 5\n\n### 5.1\n\n${words(500)}\n\n### 5.2 Git\n\n${words(50)}\n\n### 5.3 Vim\n\n${words(50)}\n\n## 6 German\n\n${words(50)}`;
    expect(split(prompt).map(({ path, topics }) => [path, topics])).toEqual([
      [['Guide', '5', '5.1'], []],
      [
        ['Guide', '5'],
        ['5.2 Git', '5.3 Vim'],
      ],
      [['Guide', '6 German'], []],
    ]);
    const chapters = split('# Refunds\n\nSoon.\n\n# Parcels\n\nLater.');
    expect(chapters.map(({ path }) => path)).toEqual([['Refunds'], ['Parcels']]);
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

  it('loses, doubles and moves no word of any prompt', () => {
    const size = fc.nat(250);
    const part = fc.oneof(
      fc.record({ kind: fc.constant('heading' as const), size: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ kind: fc.constantFrom('open', 'open', 'close', 'close', 'stray' as const), size }),
      fc.record({
        kind: fc.constantFrom('text', 'sentences', 'list', 'fence', 'table', 'lead' as const),
        size,
      }),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), fc.boolean(), (parts, isTight) => {
        // Every word is another one, so that its place is known.
        let number = 0;
        const some = (count: number): string => Array.from({ length: count }, () => `w${number++}`).join(' ');
        const open: string[] = [];
        const lines = parts.map(({ kind, size }) => {
          if (kind === 'heading') return `${'#'.repeat(size)} ${some(2)}`;
          if (kind === 'open') {
            open.push(some(1));
            return `<${open.at(-1)}>`;
          }
          if (kind === 'close') return open.length === 0 ? '' : `</${open.pop()}>`;
          if (kind === 'stray') return '</nothing>';
          if (kind === 'list') return Array.from({ length: 4 }, () => `- ${some(size + 1)}`).join('\n');
          if (kind === 'fence') return `\`\`\`\n${some(size + 1)}\n\n# ${some(1)}\n</x>\n\`\`\``;
          if (kind === 'table')
            return `\n| ${some(1)} | ${some(1)} |\n|---|---|\n| ${some(1)} | ${some(size + 1)} |\n`;
          // Each begins a sentence: of a paragraph the last one announces a list.
          if (kind === 'lead') return `W${some(size + 1)}:`;
          return kind === 'text'
            ? `W${some(size + 1)}.`
            : Array.from({ length: 9 }, () => `W${some(size + 1)}.`).join(' ');
        });
        const prompt = lines.join(isTight ? '\n' : '\n\n');
        const wordsOf = (text: string): string[] => text.replace(/<\/w\d+>/g, '').match(/w\d+/g) ?? [];
        const units = split(prompt);
        const told = units.flatMap(({ text }) => wordsOf(text));
        // What may be repeated: headings, and what announces a list.
        const repeatable = new Set(lines.flatMap((line) => (/^(#|<)|:$/.test(line) ? wordsOf(line) : [])));
        const seen = new Set<string>();
        const once = told.filter((word) => !(repeatable.has(word) && seen.has(word)) && seen.add(word));
        expect(once).toEqual(wordsOf(prompt));
        // Tags are closed where they are opened, even in a part of what they enclose.
        for (const { text } of units) {
          for (const [closing, name] of text.matchAll(/<\/(w\d+)>/g)) {
            expect(text.indexOf(`<${name}>`)).toBeGreaterThanOrEqual(0);
            expect(text.split(closing)).toHaveLength(2);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});
