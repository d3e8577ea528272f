import type { Embedded } from './sentence-model.ts';

/** What the embedding thread (`workers/embed-thread.ts`) and its owner tell each other. */
export interface EmbedThreadData {
  /** The model's folder. */
  readonly folder: string;
}

/** A model as its owner has to know it. */
export interface ReadyModel {
  readonly dimensions: number;
  readonly fingerprint: string;
  /** What it wants before the text of a query, of a document. */
  readonly prefixes: { readonly query: string; readonly document: string };
}

export type EmbedRequest =
  | { readonly kind: 'embed'; readonly id: number; readonly texts: readonly string[] }
  /** Finish what has been begun, then end. */
  | { readonly kind: 'close' };

export type EmbedAnswer =
  | ({ readonly kind: 'ready' } & ReadyModel)
  /** The model cannot be used; the thread ends. */
  | { readonly kind: 'unusable'; readonly message: string }
  | ({ readonly kind: 'vectors'; readonly id: number } & Embedded)
  | { readonly kind: 'failed'; readonly id: number; readonly message: string };
