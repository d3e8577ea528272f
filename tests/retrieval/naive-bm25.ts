/** BM25 as the textbook writes it, over plain documents by slot: slow and obvious. */
export function naiveBm25(
  documents: ReadonlyMap<number, readonly number[]>,
  query: readonly number[],
): Map<number, number> {
  const all = [...documents.values()];
  const average = all.reduce((sum, document) => sum + document.length, 0) / all.length;
  const scores = new Map<number, number>();
  for (const [slot, document] of documents) {
    let score = 0;
    for (const term of query) {
      const frequency = document.filter((other) => other === term).length;
      if (frequency === 0) continue;
      const containing = all.filter((other) => other.includes(term)).length;
      const idf = Math.log(1 + (all.length - containing + 0.5) / (containing + 0.5));
      score += (idf * frequency * 2.2) / (frequency + 1.2 * (1 - 0.75 + (0.75 * document.length) / average));
    }
    scores.set(slot, score);
  }
  return scores;
}
