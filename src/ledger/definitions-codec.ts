import type { Steps } from '../scheduling/slices.ts';
import type { NumberArray } from '../storage/packed-document.ts';
import type { InstructionPut, InstructionsEntry, ToolPut, ToolsEntry } from './entry.ts';
import type { InstructionDraft } from './instruction-definition.ts';
import type { ToolDefinition } from './tool-definition.ts';

/**
 * The definitions are texts of their own, since to write or parse ten thousand of them at once would take too long:
 * the first array holds them all in UTF-8, the second one their lengths. `embedding`: index of its array, −1 for none.
 */
type PackedPut<Put> = Omit<Put, 'tool' | 'instruction' | 'embedding'> & { readonly embedding: number };

export type PackedTools = Omit<ToolsEntry, 'put'> & { readonly put: readonly PackedPut<ToolPut>[] };

export type PackedInstructions = Omit<InstructionsEntry, 'put'> & {
  readonly put: readonly PackedPut<InstructionPut>[];
};

/** Returns what goes into a document. Like the others here, it pauses after every definition. */
export function* packTools(entry: ToolsEntry): Steps<readonly [PackedTools, readonly NumberArray[]]> {
  const definitions = entry.put.map(({ tool, ...rest }) => ({ ...rest, definition: tool }));
  const { put, arrays } = yield* packPut(definitions);
  return [{ ...entry, put }, arrays];
}

export function* unpackTools(packed: PackedTools, arrays: readonly NumberArray[]): Steps<ToolsEntry> {
  const put = yield* unpackPut(packed.put, arrays);
  return {
    ...packed,
    put: put.map(({ definition, ...rest }) => ({ tool: definition as ToolDefinition, ...rest })),
  };
}

export function* packInstructions(
  entry: InstructionsEntry,
): Steps<readonly [PackedInstructions, readonly NumberArray[]]> {
  const definitions = entry.put.map(({ instruction, ...rest }) => ({ ...rest, definition: instruction }));
  const { put, arrays } = yield* packPut(definitions);
  return [{ ...entry, put }, arrays];
}

export function* unpackInstructions(
  packed: PackedInstructions,
  arrays: readonly NumberArray[],
): Steps<InstructionsEntry> {
  const put = yield* unpackPut(packed.put, arrays);
  return {
    ...packed,
    put: put.map(({ definition, ...rest }) => ({ instruction: definition as InstructionDraft, ...rest })),
  };
}

interface Embedded {
  readonly embedding: Float32Array | null;
}

function* packPut<Rest extends Embedded & { readonly definition: unknown }>(
  all: readonly Rest[],
): Steps<{
  put: (Omit<Rest, 'definition' | 'embedding'> & { embedding: number })[];
  arrays: NumberArray[];
}> {
  const texts: Buffer[] = [];
  const vectors: NumberArray[] = [];
  const put: (Omit<Rest, 'definition' | 'embedding'> & { embedding: number })[] = [];
  for (const { definition, embedding, ...rest } of all) {
    texts.push(Buffer.from(JSON.stringify(definition)));
    put.push({ ...rest, embedding: embedding === null ? -1 : 1 + vectors.push(embedding) });
    yield;
  }
  const lengths = Uint32Array.from(texts, ({ length }) => length);
  const text = new Uint8Array(Buffer.concat(texts));
  return { put, arrays: [text, lengths, ...vectors] };
}

function* unpackPut<Rest extends { readonly embedding: number }>(
  packed: readonly Rest[],
  arrays: readonly NumberArray[],
): Steps<(Omit<Rest, 'embedding'> & Embedded & { definition: unknown })[]> {
  const [text, lengths] = arrays;
  const bytes = Buffer.from(text.buffer, text.byteOffset, text.byteLength);
  const put: (Omit<Rest, 'embedding'> & Embedded & { definition: unknown })[] = [];
  let start = 0;
  for (const [i, { embedding, ...rest }] of packed.entries()) {
    const end = start + lengths[i];
    const definition: unknown = JSON.parse(bytes.toString('utf8', start, end));
    put.push({ definition, ...rest, embedding: embedding < 0 ? null : (arrays[embedding] as Float32Array) });
    start = end;
    yield;
  }
  return put;
}
