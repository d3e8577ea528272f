import { describe, expect, it } from 'vitest';
import { findInstructions, safetyOverlay } from '../../src/instructions/find-instructions.ts';
import { RetrievalMemo } from '../../src/retrieval/retrieval-memo.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';
import { InstructionIndex } from '../../src/retrieval/tool-index.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import { instruction, putInstructions, Story } from '../state/entries.ts';

function corpus() {
  const story = Story.withTools(0);
  const instructionIndex = new InstructionIndex(createTypescriptKernels());
  story.state.instructions.follow(instructionIndex);
  const { instructions } = story.state;
  const kept = new Map<string, RetrievalMemo>();
  const find = (text: string, limit = 10): string[] => {
    const query = { features: { embedding: null }, tokens: tokenise(text) };
    const found = findInstructions(query, { instructionIndex }, limit);
    // What was found for the same text before must not be found any more where the corpus has changed.
    const memo = kept.get(text) ?? new RetrievalMemo();
    kept.set(text, memo);
    const again = { ...query, memos: { instructions: memo } };
    expect(findInstructions(again, { instructionIndex }, limit)).toEqual(found);
    expect(findInstructions(again, { instructionIndex }, limit)).toEqual(found);
    const { slots } = found;
    return Array.from(slots, (slot) => instructions.atSlot(slot)!.instruction.id);
  };
  return { story, instructions, find };
}

const approved = (id: string, text: string, more = {}) =>
  instruction(id, { text, status: 'approved', ...more });

describe('finding instructions', () => {
  it('finds approved ones by words, best first, and no draft', () => {
    const { story, find } = corpus();
    story.tell(
      putInstructions([
        approved('refunds', 'Refunds above 100 need a manager.'),
        approved('tone', 'Be short.'),
        instruction('drafted', { text: 'Refunds are never given.' }),
      ]),
    );
    expect(find('a refund for a customer', 1)).toEqual(['refunds']);
    expect(find('refund')).not.toContain('drafted');
    story.tell(
      putInstructions([instruction('drafted', { text: 'Refunds are never given.', status: 'approved' })]),
    );
    expect(find('refund never given')[0]).toBe('drafted');
    story.tell(putInstructions([], { remove: ['drafted'] }));
    expect(find('refund never given')).toEqual(['refunds', 'tone']);
  });

  it('goes on finding the approved text while a change of it waits', () => {
    const { story, find } = corpus();
    story.tell(putInstructions([approved('a', 'parcels by ship'), approved('b', 'letters by air')]));
    story.tell(putInstructions([instruction('a', { text: 'submarine' })]));
    expect(find('ship')[0]).toBe('a');
    story.tell(putInstructions([approved('a', 'submarine')]));
    expect(find('submarine')[0]).toBe('a');
    story.tell(putInstructions([instruction('a', { text: 'submarine', status: 'draft' })]));
    expect(find('submarine')).toEqual(['b']);
  });

  it('keeps safety ones out of what is chosen, since every prompt has them, in order of priority', () => {
    const { story, instructions, find } = corpus();
    story.tell(
      putInstructions([
        approved('low', 'Never share passwords.', { kind: 'safety', priority: 10 }),
        approved('high', 'Never give legal advice.', { kind: 'safety', priority: 90, includes: ['law'] }),
        approved('law', 'Legal advice is what a lawyer signs.', { priority: 20 }),
        instruction('draft', { kind: 'safety' }),
      ]),
    );
    expect(find('passwords')).toEqual(['law']);
    expect(safetyOverlay(instructions).map((one) => one.instruction.id)).toEqual(['high', 'law', 'low']);
  });

  it('orders those of one priority by what changed last, and then by id', () => {
    const { story, instructions } = corpus();
    const safe = (id: string, text: string) => approved(id, text, { kind: 'safety' });
    const order = () => safetyOverlay(instructions).map((one) => one.instruction.id);
    story.tell(putInstructions([safe('c', 'C'), safe('a', 'A'), safe('b', 'B')], { at: 1000 }));
    expect(order()).toEqual(['a', 'b', 'c']);
    story.tell(putInstructions([safe('b', 'B, and more')], { at: 2000 }));
    expect(order()).toEqual(['b', 'a', 'c']);
  });

  it('brings what an instruction includes, and what that includes, if it is approved', () => {
    const { story, instructions } = corpus();
    story.tell(
      putInstructions([
        approved('a', 'a', { includes: ['b', 'd'] }),
        approved('b', 'b', { includes: ['c'] }),
        approved('c', 'c'),
        instruction('d'),
      ]),
    );
    const brought = () => instructions.includedBy(instructions.get('a')!).map((one) => one.instruction.id);
    expect(brought()).toEqual(['b', 'c']);
    story.tell(putInstructions([instruction('d', { status: 'approved' })]));
    expect(brought()).toEqual(['b', 'd', 'c']);
  });
});
