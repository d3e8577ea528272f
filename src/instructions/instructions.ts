import type { LearnedEffect } from '../../bandit/effects/instruction-effects.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import type { ChangeOptions } from '../catalog/conditional-change.ts';
import { afterOf, firstPage } from '../catalog/page.ts';
import { type Forgotten, forget } from '../catalog/tools.ts';
import type { InstructionDraft, InstructionStatus } from '../ledger/instruction-definition.ts';
import { inSlices } from '../scheduling/slices.ts';
import type { InstructionChange, InstructionRecord, InstructionTable } from '../state/instruction-table.ts';
import {
  approveInstructions,
  awaitsApproval,
  getInstruction,
  type InstructionsChanged,
  patchInstructions,
  syncInstructions,
} from './change-instructions.ts';
import { type Duplicate, DuplicateFinder } from './near-duplicates.ts';

/** Pairs of one answer at most. */
const ANSWERED_DUPLICATES = 100;

/** What a change did. */
export interface InstructionChanges extends InstructionsChanged {
  /** Drafts and changes of the corpus that are not served until they are approved. */
  readonly awaiting: number;
  /** Of what it added or changed: which say nearly the same as another one, the most similar first. */
  readonly duplicates: readonly Duplicate[];
  /** False: there are more of them, or not all texts could be compared. */
  readonly duplicatesComplete: boolean;
}

/** `draft`: those that wait for approval, whole or with a change. */
export interface InstructionQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly status?: InstructionStatus | undefined;
}

/** An instruction, and what was learned of its being there; null: nothing yet. */
export type LearnedInstruction = InstructionRecord & { readonly learned: LearnedEffect | null };

export interface InstructionPage {
  readonly revision: string;
  readonly instructions: readonly LearnedInstruction[];
  readonly nextCursor: string | null;
}

/** The instructions of catalogs, by id. Everything here throws Problem catalog-not-found. */
export class Instructions {
  readonly #catalogs: Catalogs;
  readonly #duplicates = new DuplicateFinder();

  constructor(catalogs: Catalogs) {
    this.#catalogs = catalogs;
  }

  sync(
    catalog: string,
    instructions: readonly InstructionDraft[],
    options: ChangeOptions = {},
  ): Promise<InstructionChanges> {
    return this.#catalogs.holding(catalog, async (open) => {
      return this.#answer(open, await syncInstructions(open, instructions, options), instructions);
    });
  }

  patch(
    catalog: string,
    {
      put = [],
      remove = [],
    }: { readonly put?: readonly InstructionDraft[]; readonly remove?: readonly string[] },
    options: ChangeOptions = {},
  ): Promise<InstructionChanges> {
    return this.#catalogs.holding(catalog, async (open) => {
      return this.#answer(open, await patchInstructions(open, put, remove, options), put);
    });
  }

  /** @param ids absent: everything that waits. @throws Problem instruction-not-found */
  approve(
    catalog: string,
    ids: readonly string[] | undefined,
    options: ChangeOptions = {},
  ): Promise<InstructionChanges> {
    return this.#catalogs.holding(catalog, async (open) => {
      return this.#answer(open, await approveInstructions(open, ids, options), []);
    });
  }

  /** @throws Problem instruction-not-found */
  remove(catalog: string, id: string, options: ChangeOptions = {}): Promise<InstructionChanges> {
    return this.#catalogs.holding(catalog, async (open) => {
      const { instruction } = getInstruction(open, id);
      return this.#answer(open, await patchInstructions(open, [], [instruction.id], options), []);
    });
  }

  /** By id. The cursor is the last id of the page before, so that changes in between do no harm. */
  list(catalog: string, { limit, cursor, status }: InstructionQuery): InstructionPage {
    const { instructions, effects } = this.#catalogs.get(catalog).state;
    const after = afterOf(cursor);
    const wanted = (record: InstructionRecord): boolean =>
      status === undefined ||
      (status === 'draft' ? awaitsApproval(record) : record.instruction.status === 'approved');
    const rest = [...instructions.live()]
      .filter((record) => record.instruction.id > after && wanted(record))
      .sort((a, b) => (a.instruction.id < b.instruction.id ? -1 : 1));
    const { rows, nextCursor } = firstPage(
      rest,
      limit,
      ({ instruction }) => instruction.id,
      ({ instruction, pending }) => instruction.text.length + (pending?.instruction.text.length ?? 0),
    );
    return {
      revision: instructions.revision,
      instructions: rows.map((record) => ({ ...record, learned: effects.learned(record.slot) })),
      nextCursor,
    };
  }

  /** @throws Problem instruction-not-found */
  get(catalog: string, id: string): LearnedInstruction {
    const open = this.#catalogs.get(catalog);
    const record = getInstruction(open, id);
    return { ...record, learned: open.state.effects.learned(record.slot) };
  }

  /** Erases what was learned of its being there; the instruction stays. @throws Problem instruction-not-found */
  forget(catalog: string, id: string): Promise<Forgotten> {
    return this.#catalogs.holding(catalog, (open) => {
      return forget(open, { instruction: getInstruction(open, id).instruction.id });
    });
  }

  /** Who changed what, and when: the latest changes, newest first. */
  changes(catalog: string, limit: number): readonly InstructionChange[] {
    return this.#catalogs.get(catalog).state.instructions.changes().slice(-limit).reverse();
  }

  async #answer(
    { state: { instructions } }: Catalog,
    changed: InstructionsChanged,
    put: readonly InstructionDraft[],
  ): Promise<InstructionChanges> {
    const live = [...instructions.live()];
    const texts = live.map(({ instruction, pending }) => pending?.instruction ?? instruction);
    const ids = textsChangedBy(changed, put, instructions);
    const { pairs, complete } = await inSlices(this.#duplicates.find(ids, texts));
    return {
      ...changed,
      awaiting: live.filter(awaitsApproval).length,
      duplicates: pairs.slice(0, ANSWERED_DUPLICATES),
      duplicatesComplete: complete && pairs.length <= ANSWERED_DUPLICATES,
    };
  }
}

/** Returns the ids of what a change added or changed, also when its answer is given again. */
function textsChangedBy(
  { added, changed, revision }: InstructionsChanged,
  put: readonly InstructionDraft[],
  instructions: InstructionTable,
): ReadonlySet<string> {
  const change = instructions.changes().findLast((one) => one.revision === revision);
  if (added + changed === 0 || change === undefined) return new Set();
  const isOfIt = ({ id }: InstructionDraft): boolean => {
    const record = instructions.get(id);
    return (record?.pending?.at ?? record?.updatedAt) === change.at;
  };
  return new Set(put.filter(isOfIt).map(({ id }) => id));
}
