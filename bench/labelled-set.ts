import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { ToolDefinition } from '../src/ledger/tool-definition.ts';
import type { Embedder } from '../src/models/embedder.ts';
import { denseText } from '../src/retrieval/document-text.ts';
import { tokenise } from '../src/retrieval/tokenise.ts';
import type { LabelledQuery } from '../src/simulation/evaluate.ts';
import type { PreparedTool } from '../src/simulation/simulated-catalog.ts';

interface ToolLine {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly parameters?: Record<string, unknown>;
  readonly server?: string;
  readonly category?: string;
}

interface QueryLine {
  readonly query: string;
  readonly relevant: readonly string[];
}

/** Texts per call of the embedder while a set is prepared. */
const LOT = 500;

/**
 * Reads a public data set in the project's format, with the vectors of an embedder (null: without any). Vectors
 * are kept in the system's folder for temporary files, by the embedder's fingerprint and the texts.
 */
export class LabelledSet {
  readonly #folder: string;
  readonly #set: string;
  readonly #embedder: Embedder | null;

  constructor(data: string, set: string, embedder: Embedder | null) {
    this.#folder = join(data, set);
    this.#set = set;
    this.#embedder = embedder;
  }

  /**
   * Names are not unique in these sets, ids are: they become the names, so that nothing else need change. The
   * embedder reads the true name; an id that has the server in it stands for the server.
   */
  async tools(): Promise<PreparedTool[]> {
    const lines = (await this.#lines('tools')) as ToolLine[];
    const texts = lines.map(({ name, description }) =>
      denseText({ name, description: description ?? '', inputSchema: {} }),
    );
    const vectors = await this.#embed('tools', texts, true);
    return lines.map((line, at) => ({ tool: definitionOf(line), embedding: vectors?.[at] ?? null }));
  }

  /** The queries of a split that at least one known tool fits. */
  async queries(split: string): Promise<LabelledQuery[]> {
    const known = new Set(((await this.#lines('tools')) as ToolLine[]).map(({ id }) => id));
    const lines = (await this.#lines(`queries.${split}`)) as QueryLine[];
    const vectors = await this.#embed(
      split,
      lines.map(({ query }) => query),
      false,
    );
    return lines
      .map(({ query, relevant }, at) => ({
        text: query,
        tokens: tokenise(query),
        embedding: vectors?.[at] ?? null,
        relevant: [...new Set(relevant)].filter((id) => known.has(id)),
      }))
      .filter(({ relevant }) => relevant.length > 0);
  }

  async #lines(name: string): Promise<unknown[]> {
    const plain = join(this.#folder, `${name}.jsonl`);
    const bytes = existsSync(plain) ? await readFile(plain) : gunzipSync(await readFile(`${plain}.gz`));
    return bytes
      .toString('utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  }

  async #embed(part: string, texts: readonly string[], documents: boolean): Promise<Float32Array[] | null> {
    const embedder = this.#embedder;
    if (embedder === null) return null;
    const { dimensions, fingerprint } = embedder;
    const folder = join(tmpdir(), 'bandolier-bench', fingerprint.replaceAll(/[^\w-]/g, '_'));
    const hash = createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16);
    const file = join(folder, `${this.#set}.${part}.${hash}.f32`);
    if (!existsSync(file)) {
      const rows = new Float32Array(texts.length * dimensions);
      for (let from = 0; from < texts.length; from += LOT) {
        const lot = texts.slice(from, from + LOT);
        const vectors = await (documents ? embedder.embedDocuments(lot) : embedder.embedQueries(lot));
        for (const [i, vector] of vectors.entries()) rows.set(vector, (from + i) * dimensions);
      }
      await mkdir(folder, { recursive: true });
      await writeFile(file, rows);
    }
    const bytes = await readFile(file);
    const rows = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
    return texts.map((_, at) => rows.slice(at * dimensions, (at + 1) * dimensions));
  }
}

function definitionOf({ id, name, description, parameters, server, category }: ToolLine): ToolDefinition {
  return {
    name: id,
    description: description ?? '',
    inputSchema: parameters ?? {},
    ...(server === undefined || id === `${server}/${name}` ? {} : { server }),
    ...(category === undefined ? {} : { tags: [category] }),
  };
}
