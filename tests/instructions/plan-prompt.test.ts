import { describe, expect, it } from 'vitest';
import { earlierName, planPrompt, promptName } from '../../src/instructions/plan-prompt.ts';
import { splitPrompt } from '../../src/instructions/split-prompt.ts';
import type { InstructionDefinition } from '../../src/ledger/instruction-definition.ts';

const count = (text: string): number => text.split(/\s+/).length;
const plan = (prompt: string, stored: readonly InstructionDefinition[] = [], options = {}) =>
  planPrompt('shop', splitPrompt(prompt, count), stored, options);

/** A corpus as it is after a prompt was put and approved. */
const storedOf = (prompt: string): InstructionDefinition[] =>
  plan(prompt).units.map(({ instruction }) => ({ ...instruction, status: 'approved' }));

/** Paragraphs of 250 words, so that each is a unit. */
const paragraph = (topic: string) => Array.from({ length: 250 }, (_, i) => `${topic}${i % 97}`).join(' ');
const PROMPT = `# Shop\n\n## Refunds\n\n${paragraph('refund')}\n\n${paragraph('payment')}\n\n${paragraph('bank')}\n\n## Parcels\n\n${paragraph('parcel')}\n\n${paragraph('ship')}\n\n${paragraph('box')}`;

describe('what a prompt changes', () => {
  it('names new units for their headings and words, always alike, with priorities by kind', () => {
    const { units, removed } = plan(PROMPT);
    expect(removed).toEqual([]);
    expect(units.map(({ instruction }) => instruction.id.replace(/[0-9a-f]{6}$/, '…'))).toEqual([
      ...Array(3).fill('shop/refunds-…'),
      ...Array(3).fill('shop/parcels-…'),
    ]);
    expect(new Set(units.map(({ instruction }) => instruction.id)).size).toBe(6);
    expect(plan(PROMPT)).toEqual({ units, removed });
    expect(units[0].instruction).toMatchObject({ priority: 50, tags: ['Shop', 'Refunds'] });
    expect(plan('Never ask for passwords.').units[0].instruction).toMatchObject({
      kind: 'safety',
      priority: 100,
    });
    const chosen = plan('Be kind.', [], { kind: 'style', domain: 'support' });
    expect(chosen.units[0].instruction).toMatchObject({ kind: 'style', domain: 'support' });
  });

  it('is nothing when it is the same', () => {
    const { units, removed } = plan(PROMPT, storedOf(PROMPT));
    expect(units.every(({ change }) => change === 'unchanged')).toBe(true);
    expect(removed).toEqual([]);
  });

  it('is one instruction when a paragraph changes, which keeps its id', () => {
    const stored = storedOf(PROMPT);
    const { units, removed } = plan(PROMPT.replace('payment5 ', 'refunds by card '), stored);
    expect(units.map(({ change }) => change)).toEqual([
      'unchanged',
      'changed',
      ...Array(4).fill('unchanged'),
    ]);
    expect(units[1].instruction.id).toBe(stored[1].id);
    expect(removed).toEqual([]);
  });

  it('keeps what people gave an instruction since', () => {
    const [first, ...rest] = storedOf(PROMPT);
    const edited: InstructionDefinition = { ...first, kind: 'safety', priority: 99, includes: [rest[0].id] };
    const { units } = plan(PROMPT.replace('refund5 ', 'something '), [edited, ...rest]);
    expect(units[0]).toMatchObject({ change: 'changed', instruction: { kind: 'safety', priority: 99 } });
    expect(units[0].instruction).not.toHaveProperty('status');
    expect(units[0].instruction.includes).toEqual([rest[0].id]);
  });

  it('adds, moves and removes units without touching others, and leaves other prompts alone', () => {
    const other: InstructionDefinition = { ...storedOf('Be kind.')[0], id: 'other/kind-000000' };
    const stored = [...storedOf(PROMPT), other];
    const added = plan(`${PROMPT}\n\n## Invoices\n\n${paragraph('invoice')}`, stored);
    expect(added.units.map(({ change }) => change)).toEqual([...Array(6).fill('unchanged'), 'added']);
    const [head, refunds, parcels] = PROMPT.split(/\n\n(?=## )/);
    const moved = plan([head, parcels, refunds].join('\n\n'), stored);
    expect(moved.units.every(({ change }) => change === 'unchanged')).toBe(true);
    const shorter = plan([head, refunds].join('\n\n'), stored);
    expect(shorter.removed).toEqual(stored.slice(3, 6).map(({ id }) => id));
  });

  it('gives two units with the same words ids of their own', () => {
    const twice = `# A\n\n${paragraph('same')}\n\n${paragraph('same')}\n\n${paragraph('same')}`;
    const ids = plan(twice).units.map(({ instruction }) => instruction.id);
    expect(new Set(ids).size).toBe(3);
    expect(plan(twice, storedOf(twice)).units.every(({ change }) => change === 'unchanged')).toBe(true);
  });

  it('gives known units the kind and domain that are stated, with the priority of the kind', () => {
    const [first, ...rest] = storedOf(PROMPT);
    const { units } = plan(PROMPT, [{ ...first, priority: 7 }, ...rest], { kind: 'safety', domain: 'pay' });
    expect(units.map(({ change }) => change)).toEqual(Array(6).fill('changed'));
    expect(units[0].instruction).toMatchObject({ kind: 'safety', priority: 7, domain: 'pay' });
    expect(units[1].instruction).toMatchObject({ kind: 'safety', priority: 100, text: rest[0].text });
    const again = plan(PROMPT, rest, { kind: 'policy' }).units.slice(1);
    expect(again.every(({ change }) => change === 'unchanged')).toBe(true);
  });

  it('knows the name under which a renamed file is there', () => {
    const nora = storedOf(PROMPT).map((one) => ({ ...one, id: one.id.replace('shop/', 'nora/') }));
    expect(earlierName(plan(PROMPT, nora), nora)).toBe('nora');
    expect(earlierName(plan(PROMPT, nora.slice(0, 3)), nora.slice(0, 3))).toBeNull();
    expect(earlierName(plan(PROMPT, storedOf(PROMPT)), storedOf(PROMPT))).toBeNull();
  });

  it('names what was joined, as far as that is short', () => {
    const topics = Array.from({ length: 9 }, (_, i) => `## Topic number ${i}\n\nText.`);
    const [{ instruction }] = plan(
      `# Shop\n\n## Rules\n\nNever ask for passwords.\n\n${topics.join('\n\n')}`,
    ).units.slice(1);
    expect(instruction.id).toMatch(
      /^shop\/topic-number-0\+topic-number-1\+topic-number-2\+topic-number-3-[0-9a-f]{6}$/,
    );
    expect(instruction.tags).toEqual(['Shop', ...topics.map((_, i) => `Topic number ${i}`)]);
  });

  it('is named for its file', () => {
    expect(promptName('/tmp/My System Prompt.md')).toBe('my-system-prompt');
    expect(promptName('')).toBe('prompt');
  });
});
