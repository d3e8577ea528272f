import { randomUUID } from 'node:crypto';
import { Problem } from '../errors/problem.ts';
import type { BoundEmbedder, EmbedderEntry } from '../ledger/entry.ts';
import { type Embedder, EmbedderUnavailableError } from '../models/embedder.ts';
import { denseText } from '../retrieval/document-text.ts';
import type { EmbedderResult } from '../state/fold-result.ts';
import type { Replica } from '../state/replica.ts';
import type { Catalog } from './catalog.ts';
import { domainWeights } from './domains.ts';
import { DEFAULT_EMBEDDER, type Embedders, type NamedEmbedder } from './embedders.ts';

export interface CatalogEmbedderParts {
  readonly name: string;
  readonly replica: Replica;
  readonly embedders: Embedders;
  /** ms since the epoch. */
  now(): number;
  onNotice(message: string): void;
  onError(message: string, error: unknown): void;
}

/**
 * The embedder of one catalog. Which one that is says the state, by fingerprint, and no other is ever asked on its
 * behalf: a process that cannot open it goes by words alone. Only a command moves a catalog to another one.
 */
export class CatalogEmbedder {
  readonly #parts: CatalogEmbedderParts;
  /** What is tried again and again until it is open; null: nothing is. */
  #awaited: BoundEmbedder | null = null;
  #closed = false;

  constructor(parts: CatalogEmbedderParts) {
    this.#parts = parts;
  }

  /** The one that made the vectors; null: there is none, or it cannot be asked now. */
  get embedder(): Embedder | null {
    return this.#parts.embedders.of(this.#bound.fingerprint)?.embedder ?? null;
  }

  /** There should be one, but words have to decide alone for now. */
  get isDown(): boolean {
    const { model, fingerprint } = this.#bound;
    return model === null || this.#parts.embedders.of(fingerprint) === null;
  }

  /** @throws EmbedderUnavailableError */
  async embedDocuments(
    texts: readonly string[],
    signal?: AbortSignal,
  ): Promise<readonly (Float32Array | null)[]> {
    if (texts.length === 0) return [];
    const open = this.#parts.embedders.of(this.#bound.fingerprint);
    if (open !== null) return open.documents.of(texts, signal);
    throw new EmbedderUnavailableError(
      `Catalog "${this.#parts.name}" has the embedding model "${this.#bound.model}", which cannot be asked here now.`,
    );
  }

  /**
   * Moves the catalog to the model of this name. While the tools are embedded the one before serves.
   * @throws UnusableModelError @throws EmbedderUnavailableError @throws Problem
   */
  async bind(name: string): Promise<void> {
    const { embedders } = this.#parts;
    const before = this.#bound.model;
    const open = { model: embedders.nameOf(name), ...(await embedders.get(name)) };
    this.#say(before, await bindEmbedder(this.#parts, open, {}));
  }

  /** Moves it back to the model that a version of the policy was learned with, and makes that the active one. */
  async bindVersion(version: string, learnedWith: BoundEmbedder): Promise<EmbedderResult> {
    const before = this.#bound.model;
    const outcome = await bindEmbedder(this.#parts, await this.#parts.embedders.find(learnedWith), {
      version,
    });
    this.#say(before, outcome);
    return outcome;
  }

  /** Opens what the catalog needs; gives it a model if it has none yet. What cannot be had now is waited for. */
  async start(): Promise<void> {
    try {
      await this.#open();
    } catch (error) {
      // Without the configured model no catalog can be begun: a reason not to start.
      if (!(error instanceof EmbedderUnavailableError)) throw error;
      this.#wait(error);
    }
  }

  /** The state is another one, or the catalog was moved: its model may not have been needed here so far. */
  follow(): void {
    if (this.isDown) this.#open().catch((error) => this.#wait(error));
  }

  close(): void {
    this.#closed = true;
  }

  get #bound(): BoundEmbedder {
    return this.#parts.replica.state.embedder;
  }

  async #open(): Promise<void> {
    const { name, embedders, onNotice } = this.#parts;
    const configured = embedders.nameOf(DEFAULT_EMBEDDER);
    if (this.#bound.model === null) {
      const open = { model: configured, ...(await embedders.get(DEFAULT_EMBEDDER)) };
      await bindEmbedder(this.#parts, open, { first: true });
    }
    const { model } = this.#bound;
    const found = await embedders.find(this.#bound);
    if (found.model === configured) return;
    onNotice(
      `catalog "${name}" keeps its embedding model "${model}"; this process is configured with "${configured}". ${this.#command}`,
    );
  }

  #wait(error: unknown): void {
    const { name, embedders, onError } = this.#parts;
    const bound = this.#bound;
    if (this.#closed || this.#awaited?.fingerprint === bound.fingerprint) return;
    this.#awaited = bound;
    const configured = embedders.nameOf(DEFAULT_EMBEDDER);
    const model = bound.model ?? configured;
    onError(
      `catalog "${name}" goes by words alone until its embedding model "${model}" is there` +
        (model === configured ? '' : `; this process is configured with "${configured}". ${this.#command}`),
      error,
    );
    const isWanted = (): boolean => !this.#closed && this.#awaited === bound && this.isDown;
    void embedders
      .tryAgain(() => this.#open(), isWanted)
      .then(() => {
        if (this.#awaited === bound) this.#awaited = null;
      });
  }

  get #command(): string {
    const { name, embedders } = this.#parts;
    return `To move the catalog: bandolier catalogs embedder ${name} ${embedders.nameOf(DEFAULT_EMBEDDER)}`;
  }

  #say(before: string | null, outcome: EmbedderResult): void {
    if (outcome.kind !== 'embedder' || outcome.kept === null) return;
    const { name, onNotice } = this.#parts;
    onNotice(
      `catalog "${name}" has the embedding model "${this.#bound.model}" now; what it learned with "${before}" is kept as ${outcome.kept}`,
    );
  }
}

/** How often tools that came or changed meanwhile are embedded as well; the last rounds are short. */
const MAX_ROUNDS = 16;

/**
 * Moves a catalog to an embedder: all live tools, approved merges and instructions, and the examples of domains, are embedded, then an entry says so,
 * and the fold sees to it that none is missing. Until then the one before serves. @throws EmbedderUnavailableError @throws Problem
 */
export async function bindEmbedder(
  catalog: Pick<Catalog, 'name' | 'replica' | 'now'>,
  { model, embedder, documents }: NamedEmbedder,
  how: Pick<EmbedderEntry, 'first' | 'version' | 'actor'>,
): Promise<EmbedderResult> {
  const { replica } = catalog;
  const made = new Map<string, Float32Array>();
  let trained: EmbedderEntry['domains'];
  const fingerprint = embedder?.fingerprint ?? null;
  const isNew = (): boolean => replica.state.fingerprint !== fingerprint;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { tools, merges, instructions, settings, domains } = replica.state;
    const liveTools = isNew() ? [...tools.live()] : [];
    const united = isNew() ? [...merges.embedded()] : [];
    const liveInstructions = isNew() ? [...instructions.live()] : [];
    const texts = [
      ...liveTools.map(({ tool }) => denseText(tool)),
      ...united.map(({ definition }) => denseText(definition)),
      ...liveInstructions.map(({ instruction }) => instruction.text),
    ];
    const missing = embedder === null ? [] : [...new Set(texts)].filter((text) => !made.has(text));
    if (missing.length > 0) {
      const vectors = await documents.of(missing);
      for (const [at, text] of missing.entries()) made.set(text, vectors[at]!);
      continue;
    }
    if (isNew() && trained?.of !== domains.of) {
      trained = { of: domains.of, weights: await domainWeights(settings.domains, embedder) };
      continue;
    }
    const outcome = await replica.submit({
      kind: 'embedder',
      key: `embedder/${randomUUID()}`,
      at: catalog.now(),
      ...how,
      model,
      fingerprint,
      dimensions: embedder?.dimensions ?? 0,
      vectors: liveTools.flatMap(({ tool, hash }) => {
        const embedding = made.get(denseText(tool));
        return embedding === undefined ? [] : [{ name: tool.name, hash, embedding }];
      }),
      merges: united.flatMap(({ id, hash = '', definition }) => {
        const embedding = made.get(denseText(definition));
        return embedding === undefined ? [] : [{ id, hash, embedding }];
      }),
      instructions: liveInstructions.flatMap(({ instruction: { id, text }, hash }) => {
        const embedding = made.get(text);
        return embedding === undefined ? [] : [{ id, hash, embedding }];
      }),
      ...(trained !== undefined && trained.weights.length > 0 && { domains: trained }),
    });
    if (outcome.kind === 'embedder') return outcome;
    if (outcome.kind === 'embedder-refused' && outcome.reason !== 'stale') return outcome;
  }
  throw new Problem(
    'unavailable',
    `The tools of catalog "${catalog.name}" kept changing while they were being embedded.`,
    'Try again in a moment; the catalog goes on with the model that it has.',
    { retryAfterSeconds: 1 },
  );
}
