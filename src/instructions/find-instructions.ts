import type { Candidates } from '../../bandit/policy.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { RetrievalMemo } from '../retrieval/retrieval-memo.ts';
import type { SearchedText } from '../retrieval/searched-texts.ts';
import type { ShortlistRequest } from '../retrieval/shortlist.ts';
import type { InstructionRecord, InstructionTable } from '../state/instruction-table.ts';

/** A query as retrieval compares it. */
export interface InstructionQuery extends Pick<SearchedText, 'tokens'> {
  readonly features: Pick<SearchedText, 'embedding'>;
  readonly parts?: readonly SearchedText[];
  /** What was found for it before. */
  readonly memos?: { readonly instructions: RetrievalMemo } | undefined;
}

/**
 * Returns the approved instructions that fit a query best, at most `limit`, with their retrieval scores, best first. The scores
 * are those of tools: h and c are normalised over all instructions that can be chosen. What has to be in every prompt
 * (`safetyOverlay`) is not among them, and what comes with an instruction is `InstructionTable.includedBy`.
 * @param more what a reranker said of some, slots that have to be among them, and slots that must not be.
 */
export function findInstructions(
  { features, tokens, parts, memos }: InstructionQuery,
  { instructionIndex }: Pick<Catalog, 'instructionIndex'>,
  limit: number,
  more: Pick<ShortlistRequest, 'rerank' | 'pin' | 'exclude'> = {},
): Candidates {
  const memo = memos?.instructions;
  const { embedding } = features;
  return instructionIndex.search({ embedding, tokens, parts, memo, limit, ...more }).candidates;
}

/** Returns what has to be in every prompt: approved instructions of kind `safety` and what they include, in the order of a prompt. */
export function safetyOverlay(instructions: InstructionTable): readonly InstructionRecord[] {
  const all = instructions.safety().flatMap((record) => [record, ...instructions.includedBy(record)]);
  return inPromptOrder(new Set(all));
}

/** Returns the records by priority, highest first; of equals the one that changed last, then by id: the same ones always give the same prompt. */
export function inPromptOrder(records: Iterable<InstructionRecord>): readonly InstructionRecord[] {
  return [...records].sort(
    ({ instruction: a, updatedAt: atA }, { instruction: b, updatedAt: atB }) =>
      b.priority - a.priority || atB - atA || (a.id < b.id ? -1 : 1),
  );
}
