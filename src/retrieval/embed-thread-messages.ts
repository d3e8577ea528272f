/** What the embedding thread (`workers/embed-thread.ts`) and its owner tell each other. */
export interface EmbedThreadData {
  /** The model's folder. */
  readonly folder: string;
}

export type EmbedRequest =
  | { readonly kind: 'embed'; readonly id: number; readonly texts: readonly string[] }
  /** Finish what has been begun, then end. */
  | { readonly kind: 'close' };

export type EmbedAnswer =
  | { readonly kind: 'ready'; readonly dimensions: number; readonly fingerprint: string }
  /** The model cannot be used; the thread ends. */
  | { readonly kind: 'unusable'; readonly message: string }
  /** The vectors of all texts of the request, one after the other. */
  | { readonly kind: 'vectors'; readonly id: number; readonly vectors: Float32Array<ArrayBuffer> }
  | { readonly kind: 'failed'; readonly id: number; readonly message: string };
