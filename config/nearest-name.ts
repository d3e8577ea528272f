/** The known name with the fewest single-letter edits from `name`, upper and lower case alike. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const distances = known.map((candidate) => editDistance(name.toLowerCase(), candidate.toLowerCase()));
  return known[distances.indexOf(Math.min(...distances))];
}

/** Levenshtein's distance, one row of the matrix at a time. */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
