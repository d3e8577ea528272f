import type { Catalog } from '../catalog/catalog.ts';
import { type ChangeOptions, submitChange } from '../catalog/conditional-change.ts';
import { refusingUnusable } from '../catalog/embedders.ts';
import { Problem, type Violation } from '../errors/problem.ts';
import { instructionHash } from '../ledger/definition-hash.ts';
import type { InstructionPut, InstructionsEntry } from '../ledger/entry.ts';
import { type InstructionDraft, MAX_INCLUDED } from '../ledger/instruction-definition.ts';
import { inSlices, mapInSteps } from '../scheduling/slices.ts';
import { effectOf } from '../state/fold-instructions.ts';
import type { InstructionsApplied, InstructionsResult } from '../state/fold-result.ts';
import type { InstructionRecord, InstructionTable } from '../state/instruction-table.ts';

/** So many are named; the others are found when these are mended. */
const MAX_VIOLATIONS = 20;

export type InstructionsChanged = Omit<InstructionsApplied, 'kind'>;

/** Full sync: afterwards the catalog has exactly these instructions. Only texts that changed are embedded. */
export async function syncInstructions(
  catalog: Catalog,
  instructions: readonly InstructionDraft[],
  options: ChangeOptions = {},
): Promise<InstructionsChanged> {
  const hashed = await hashedAll(instructions);
  const sync = hashed.map(({ instruction }) => instruction.id);
  refuseRepeats(sync);
  const content = hashed.map(({ instruction: { id, status }, hash }) => [id, hash, status]);
  return change(
    catalog,
    ['sync', content],
    options,
    pathsIn('instructions', hashed),
    ({ instructions: table }) => {
      const changing = hashed.filter((one) => effectOf(table.get(one.instruction.id), one).length > 0);
      return { put: changing, remove: [], sync, preparedFor: table.revision };
    },
  );
}

/** Puts some instructions and removes others; ids that are not there are removed without complaint. */
export async function patchInstructions(
  catalog: Catalog,
  put: readonly InstructionDraft[],
  remove: readonly string[],
  options: ChangeOptions = {},
): Promise<InstructionsChanged> {
  const hashed = await hashedAll(put);
  refuseRepeats([...hashed.map(({ instruction }) => instruction.id), ...remove]);
  const content = hashed.map(({ instruction: { id, status }, hash }) => [id, hash, status]);
  const paths = pathsIn('put', hashed, remove.length > 0 ? 'remove' : 'put');
  return change(catalog, ['patch', content, remove], options, paths, () => ({ put: hashed, remove }));
}

/**
 * Approves drafts, and changes that wait: those with these ids, or all. With `ifMatch` exactly what was read at that revision.
 * @throws Problem instruction-not-found
 */
export function approveInstructions(
  catalog: Catalog,
  ids: readonly string[] | undefined,
  options: ChangeOptions = {},
): Promise<InstructionsChanged> {
  return change(
    catalog,
    ['approve', ids ?? null],
    options,
    () => 'ids',
    ({ instructions: table }) => {
      const named = ids?.map((id) => getInstruction(catalog, id)) ?? [...table.live()];
      const put = named.filter(awaitsApproval).map((record) => {
        const { instruction, hash } = record.pending ?? record;
        return { instruction: { ...instruction, status: 'approved' as const }, hash };
      });
      return { put, remove: [], preparedFor: table.revision };
    },
  );
}

export function awaitsApproval({ instruction, pending }: InstructionRecord): boolean {
  return instruction.status === 'draft' || pending !== undefined;
}

/** @throws Problem instruction-not-found */
export function getInstruction(catalog: Catalog, id: string): InstructionRecord {
  const { instructions } = catalog.state;
  const record = instructions.get(id);
  if (record !== undefined) return record;
  const removedAt = instructions.find(id)?.removedAt ?? null;
  throw new Problem(
    'instruction-not-found',
    removedAt === null
      ? `Catalog "${catalog.name}" has no instruction "${id}".`
      : `Instruction "${id}" was removed on ${new Date(removedAt).toISOString()}.`,
    removedAt === null
      ? `List its instructions with GET /v1/catalogs/${catalog.name}/instructions.`
      : 'Put it again to bring it back.',
  );
}

type Hashed = Omit<InstructionPut, 'embedding'>;

function hashedAll(instructions: readonly InstructionDraft[]): Promise<Hashed[]> {
  return inSlices(
    mapInSteps(instructions, (instruction) => ({ instruction, hash: instructionHash(instruction) })),
  );
}

type Prepared = Pick<InstructionsEntry, 'remove' | 'sync' | 'preparedFor'> & {
  readonly put: readonly Hashed[];
};

function change(
  catalog: Catalog,
  content: unknown,
  options: ChangeOptions,
  pathOf: PathOf,
  prepare: (state: Catalog['state']) => Prepared,
): Promise<InstructionsChanged> {
  const prepareEntry = async () => {
    const prepared = prepare(catalog.state);
    const put = await withEmbeddings(catalog, prepared.put, options.signal);
    return { kind: 'instructions' as const, ...prepared, put };
  };
  return submitChange(catalog, 'instructions', content, options, prepareEntry, (outcome) => {
    if (outcome.kind === 'instructions') {
      const { kind: _, ...changed } = outcome;
      return changed;
    }
    if (outcome.kind === 'instructions-refused') refuse(outcome, pathOf);
    return undefined;
  });
}

/** Returns where the request says what an instruction includes. */
type PathOf = (id: string) => string;

/** @param otherwise where it says something that concerns an instruction which is not in the list */
function pathsIn(list: string, hashed: readonly Hashed[], otherwise = list): PathOf {
  return (id) => {
    const index = hashed.findIndex(({ instruction }) => instruction.id === id);
    return index < 0 ? otherwise : `${list}[${index}].includes`;
  };
}

/** @throws Problem unless it was prepared for what has changed since. */
function refuse(
  refused: Extract<InstructionsResult, { kind: 'instructions-refused' }>,
  pathOf: PathOf,
): void {
  switch (refused.reason) {
    case 'stale':
    case 'revision':
      return;
    case 'includes':
      throw invalid(
        refused.dangling.slice(0, MAX_VIOLATIONS).map(({ id, include }) => ({
          path: pathOf(id),
          message: `"${id}" includes "${include}", which would not be there`,
        })),
        'Put what is included in the same request, or take it out of `includes`.',
      );
    case 'circle': {
      const circle = [...refused.circle, refused.circle[0]].map((id) => `"${id}"`).join(' → ');
      throw invalid(
        [
          {
            path: pathOf(refused.circle[0]),
            message: `instructions would include each other in a circle: ${circle}`,
          },
        ],
        'Take one of these out of the `includes` of the one before it.',
      );
    }
    case 'too-many-included':
      throw invalid(
        refused.ids.slice(0, MAX_VIOLATIONS).map((id) => ({
          path: pathOf(id),
          message: `"${id}" would bring more than ${MAX_INCLUDED} others with it: what it includes, what that includes, and so on`,
        })),
        'Put texts that always belong together into one instruction, or take some out of `includes`. Changes that wait for approval count as well.',
      );
  }
}

function invalid(violations: readonly Violation[], fix: string): Problem {
  const [{ message }] = violations;
  return new Problem('validation-failed', `${message[0].toUpperCase()}${message.slice(1)}.`, fix, {
    violations: violations.slice(0, MAX_VIOLATIONS),
  });
}

/** Only texts that are new here are embedded: nothing else is in a vector. */
async function withEmbeddings(
  catalog: Catalog,
  hashed: readonly Hashed[],
  signal: AbortSignal | undefined,
): Promise<InstructionPut[]> {
  const known = vectorsOf(catalog.state.instructions, hashed);
  const texts = hashed.filter((_, at) => known[at] === null).map(({ instruction }) => instruction.text);
  const made = await refusingUnusable(() => catalog.embedDocuments(texts, signal));
  let next = 0;
  return hashed.map((one, at) => ({ ...one, embedding: known[at] ?? made[next++] }));
}

/** Vectors of texts that the catalog has, null for each of the others and where there is no embedder. */
function vectorsOf(table: InstructionTable, hashed: readonly Hashed[]): (Float32Array | null)[] {
  return hashed.map(({ instruction: { id, text } }) => {
    const record = table.get(id);
    if (record?.instruction.text !== text || table.vectors.dimensions === 0) return null;
    return table.vectors.get(record.slot).slice();
  });
}

function refuseRepeats(ids: readonly string[]): void {
  const seen = new Set<string>();
  const repeated = [...new Set(ids.filter((id) => seen.size === seen.add(id).size))];
  if (repeated.length === 0) return;
  throw invalid(
    repeated.map((id) => ({ path: 'instructions', message: `the id "${id}" is repeated` })),
    'Send every instruction once, to be put or to be removed.',
  );
}
