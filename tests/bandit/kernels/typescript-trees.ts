import { TREE_BLOCK, TREE_LEAVES, type TreeTables } from '../../../bandit/kernels/kernels.ts';

/** See `Kernels.scoreTrees`. Row by row, and from the root down. */
export function scoreTrees(
  { columns, searches, thresholds, readings, nodes, trees, leaves }: TreeTables,
  features: Float64Array,
  rows: number,
  scores: Float64Array,
): void {
  for (let row = 0; row < rows; row++) {
    const codes: number[] = [];
    for (let at = 0; at < readings.length; at += 3) {
      const [search, base, missing] = readings.subarray(at, at + 3);
      const [column, start, half] = searches.subarray(3 * search, 3 * search + 3);
      const value = features[row * columns + column];
      const rank = thresholds.subarray(start, start + 2 * half - 1).filter((one) => one < value).length;
      codes.push(Number.isNaN(value) ? missing : Math.min(Math.max(rank - base, 0), 255));
    }
    let [firstNode, firstLeaf] = [0, 0];
    for (let tree = 0; tree < trees.length; tree += 2) {
      const [size, own] = [trees[tree], trees[tree + 1]];
      let at = size === 0 ? 0 : TREE_LEAVES + size - 1;
      while (at >= TREE_LEAVES) {
        const from = 4 * (firstNode + at - TREE_LEAVES);
        const [reading, threshold, left, right] = nodes.subarray(from, from + 4);
        at = (codes[reading / TREE_BLOCK] <= threshold ? left : right) / TREE_BLOCK;
      }
      scores[row] += leaves[firstLeaf + at];
      firstNode += size;
      firstLeaf += own;
    }
  }
}
