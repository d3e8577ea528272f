/**
 * From which cosine on tools are compared, by the embedder that made their vectors. The judge decides about each pair, so this is about how
 * many pairs it is asked about. Chosen on training parts (bench/merging.ts).
 */
const THRESHOLDS: ReadonlyMap<string, number> = new Map([
  // The bundled one, models/tool-static-256.
  ['2da23fd676a2ffb5fb86b35084c84059', 0.7],
]);

/** That of the paper's embedder, thenlper/gte-large (ToolScope, section 4.1). */
const THRESHOLD_OF_THE_PAPER = 0.82;

/** Returns the threshold that a catalog has whose settings name none. */
export function thresholdOf(fingerprint: string | null): number {
  return THRESHOLDS.get(fingerprint ?? '') ?? THRESHOLD_OF_THE_PAPER;
}
