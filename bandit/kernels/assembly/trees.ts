// Sums of trees over rows of features, 64 rows at a time. What the tables hold is said in ../kernels.ts.

/** Rows that are scored together, a byte each: four registers, and a line of the cache. */
const BLOCK: i32 = 64;
const LEAVES: usize = 256;

export function scoreTrees(
  features: usize,
  rows: i32,
  columns: i32,
  searches: usize,
  searchCount: i32,
  thresholds: usize,
  readings: usize,
  readingCount: i32,
  nodes: usize,
  trees: usize,
  treeCount: i32,
  leaves: usize,
  work: usize,
  scores: usize,
): void {
  const rowBytes = <usize>columns << 3;
  const slots = work;
  const codes = slots + (LEAVES << 7);
  const ranks = codes + <usize>(readingCount * BLOCK);
  for (let first = 0; first < rows; first += BLOCK) {
    const count = min(BLOCK, rows - first);
    const block = features + <usize>first * rowBytes;
    for (let i = 0; i < searchCount; i++) {
      const search = searches + <usize>(i * 12);
      rank(
        block + (<usize>load<i32>(search) << 3),
        count,
        rowBytes,
        thresholds + (<usize>load<i32>(search, 4) << 3),
        <usize>load<i32>(search, 8) << 3,
        ranks + <usize>(i * BLOCK * 2),
      );
    }
    for (let i = 0; i < readingCount; i++) {
      const reading = readings + <usize>(i * 12);
      encode(
        ranks + <usize>(load<i32>(reading) * BLOCK * 2),
        i16x8.splat(<i16>load<i32>(reading, 4)),
        i8x16.splat(<i8>load<i32>(reading, 8)),
        codes + <usize>(i * BLOCK),
      );
    }
    let node = nodes;
    let values = leaves;
    for (let tree = 0; tree < treeCount; tree++) {
      const size = load<i32>(trees + <usize>(tree << 3));
      const root = choose(node, size, codes, slots);
      node += <usize>size << 4;
      const out = scores + (<usize>first << 3);
      for (let row: usize = 0; row < <usize>count; row++) {
        const leaf = load<f64>(values + (<usize>load<u8>(root + row) << 3));
        store<f64>(out + (row << 3), load<f64>(out + (row << 3)) + leaf);
      }
      values += <usize>load<i32>(trees + <usize>(tree << 3), 4) << 3;
    }
  }
}

/** How many thresholds are below the value of each row, −1 for NaN, as i16: four rows at a time, without branches. */
function rank(
  values: usize,
  count: i32,
  rowBytes: usize,
  thresholds: usize,
  half: usize,
  ranks: usize,
): void {
  for (let row = 0; row < count; row += 4) {
    const a = load<f64>(values);
    const b = load<f64>(values + rowBytes);
    const c = load<f64>(values + 2 * rowBytes);
    const d = load<f64>(values + 3 * rowBytes);
    let i: usize = 0;
    let j: usize = 0;
    let k: usize = 0;
    let l: usize = 0;
    for (let step = half; step > 4; step >>= 1) {
      i += <usize>(a > load<f64>(thresholds + i + step - 8)) * step;
      j += <usize>(b > load<f64>(thresholds + j + step - 8)) * step;
      k += <usize>(c > load<f64>(thresholds + k + step - 8)) * step;
      l += <usize>(d > load<f64>(thresholds + l + step - 8)) * step;
    }
    store<i16>(ranks, a == a ? <i16>(i >> 3) : -1);
    store<i16>(ranks, b == b ? <i16>(j >> 3) : -1, 2);
    store<i16>(ranks, c == c ? <i16>(k >> 3) : -1, 4);
    store<i16>(ranks, d == d ? <i16>(l >> 3) : -1, 6);
    ranks += 8;
    values += 4 * rowBytes;
  }
}

/** Ranks beyond a base, 0…255, as bytes; what is missing becomes a byte of its own. */
function encode(ranks: usize, base: v128, missing: v128, codes: usize): void {
  for (let at: usize = 0; at < <usize>BLOCK; at += 16) {
    const low = v128.load(ranks + 2 * at);
    const high = v128.load(ranks + 2 * at, 16);
    const code = i8x16.narrow_i16x8_u(i16x8.sub(low, base), i16x8.sub(high, base));
    const none = i16x8.splat(-1);
    const isMissing = i8x16.narrow_i16x8_s(i16x8.eq(low, none), i16x8.eq(high, none));
    v128.store(codes + at, v128.bitselect(missing, code, isMissing));
  }
}

/** From the last node to the root, the leaf of each row below each node. Returns where those of the root are. */
function choose(node: usize, size: i32, codes: usize, slots: usize): usize {
  let slot = slots + (LEAVES << 6);
  if (size === 0) return slots;
  for (const end = node + (<usize>size << 4); node < end; node += 16) {
    const code = codes + <usize>load<i32>(node);
    const threshold = v128.load8_splat(node, 4);
    const left = slots + <usize>load<i32>(node, 8);
    const right = slots + <usize>load<i32>(node, 12);
    v128.store(slot, pick(code, threshold, left, right, 0));
    v128.store(slot, pick(code, threshold, left, right, 16), 16);
    v128.store(slot, pick(code, threshold, left, right, 32), 32);
    v128.store(slot, pick(code, threshold, left, right, 48), 48);
    slot += <usize>BLOCK;
  }
  return slot - <usize>BLOCK;
}

// @ts-ignore: decorator
@inline
function pick(code: usize, threshold: v128, left: usize, right: usize, at: usize): v128 {
  const goesLeft = i8x16.le_u(v128.load(code + at), threshold);
  return v128.bitselect(v128.load(left + at), v128.load(right + at), goesLeft);
}
