import { DEFAULT_CATALOG_SETTINGS } from '../ledger/catalog-settings.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { type Embedder, EmbedderUnavailableError, UnusableModelError } from '../retrieval/embedder.ts';
import type { Replica } from '../state/replica.ts';
import { bindEmbedder } from './bind-embedder.ts';
import type { Embedders } from './embedders.ts';

export interface CatalogEmbedderParts {
  readonly name: string;
  readonly replica: Replica;
  readonly embedders: Embedders;
  /** ms since the epoch. */
  now(): number;
  onNotice(message: string): void;
  onTrouble(message: string, error: unknown): void;
}

/**
 * The embedder of one catalog. Which one made its vectors says the state, by fingerprint, and no other is ever asked
 * on its behalf; which one is wanted say the settings. Where the two differ the catalog is bound anew.
 */
export class CatalogEmbedder {
  readonly #parts: CatalogEmbedderParts;
  #closed = false;

  constructor(parts: CatalogEmbedderParts) {
    this.#parts = parts;
  }

  /** The one that made the vectors; null: there is none, or it cannot be asked now. */
  get embedder(): Embedder | null {
    const { embedders, replica } = this.#parts;
    return embedders.of(replica.state.fingerprint)?.embedder ?? null;
  }

  /** There should be one, but words have to decide alone for now. */
  get isDown(): boolean {
    return this.embedder === null && !this.#parts.embedders.isNone(this.#wanted);
  }

  /** @throws EmbedderUnavailableError */
  async embedTools(
    tools: readonly { readonly tool: ToolDefinition; readonly hash: string }[],
  ): Promise<readonly (Float32Array | null)[]> {
    const { embedders, replica } = this.#parts;
    const open = embedders.of(replica.state.fingerprint);
    if (open !== null) return open.documents.of(tools);
    throw new EmbedderUnavailableError('The embedding model of this catalog cannot be asked now.');
  }

  /** Brings the catalog to the embedder that is wanted. @throws EmbedderUnavailableError @throws UnusableModelError */
  async bind(): Promise<void> {
    const { name, replica, embedders, now, onNotice } = this.#parts;
    const open = await embedders.get(this.#wanted);
    if (await bindEmbedder({ replica, now }, open)) {
      onNotice(`catalog "${name}" was learned with another embedding model: learning starts anew`);
    }
  }

  /** The same, at the start of a catalog: what cannot be had now is waited for. */
  async bindOrWait(): Promise<void> {
    try {
      await this.bind();
    } catch (error) {
      // What every catalog would miss is a reason not to start; what this one alone misses is not.
      const isOwn = error instanceof UnusableModelError && this.#wanted !== DEFAULT_CATALOG_SETTINGS.embedder;
      if (!isOwn && !(error instanceof EmbedderUnavailableError)) throw error;
      this.#wait(error, () => this.bind());
    }
  }

  /** Another process moved the catalog to an embedder that has not been needed here so far. */
  openWanted(): void {
    const { embedders } = this.#parts;
    if (this.embedder === null)
      embedders.get(this.#wanted).catch((error) => this.#wait(error, async () => undefined));
  }

  close(): void {
    this.#closed = true;
  }

  get #wanted(): string {
    return this.#parts.replica.state.settings.embedder;
  }

  #wait(error: unknown, then: () => Promise<void>): void {
    const { name, embedders, onTrouble } = this.#parts;
    const wanted = this.#wanted;
    onTrouble(`catalog "${name}" goes by words alone until its embedding model is there`, error);
    embedders.whenOpen(wanted, then, () => !this.#closed && this.#wanted === wanted);
  }
}
