import type { InclusionSum } from '../../../bandit/kernels/kernels.ts';

/** See `Kernels.sumInclusion`. Two values of t at a time, t and 2t, as two lanes of a SIMD register. */
export function sumInclusion(sum: InclusionSum): void {
  const { work, count, k, first, end, negligible } = sum;
  const places = placesIn(count, k);
  const { sums, arrivals, before } = places;
  begin(work, places, count, first);
  let arrivals0 = 0;
  let arrivals1 = 0;
  work[before] = 1;
  work[before + 1] = 1;
  // Candidates beyond `live` have hardly begun to arrive: each still gets its share of the arrivals.
  let live = 0;
  for (let t = first; t < end; t *= 4) {
    while (live < count && work[live] * t > negligible) {
      work[sums + 2 * live] += work[live] * arrivals0;
      work[sums + 2 * live + 1] += work[live] * arrivals1;
      live++;
    }
    countBefore(work, places, live, k);
    const all = before + 2 * live * k;
    let atMost0 = 0;
    let atMost1 = 0;
    for (let a = all; a < all + 2 * k; a += 2) {
      atMost0 += work[a];
      atMost1 += work[a + 1];
    }
    arrivals0 += t * atMost0;
    arrivals1 += 2 * t * atMost1;
    addInclusion(work, places, live, k, t);
    quadruple(work, places, count);
  }
  for (let i = live; i < count; i++) {
    work[sums + 2 * i] += work[i] * arrivals0;
    work[sums + 2 * i + 1] += work[i] * arrivals1;
  }
  work[arrivals] += arrivals0;
  work[arrivals + 1] += arrivals1;
}

interface Places {
  readonly sums: number;
  readonly arrivals: number;
  /** 1 − e^(−wt) and e^(−wt). */
  readonly arrived: number;
  readonly absent: number;
  /** [i][a]: Pr[a of the candidates before i have arrived]; one row more for all of them. */
  readonly before: number;
  /** [a]: Pr[at most K−1−a of the candidates after i have arrived], and a zero. */
  readonly after: number;
}

function placesIn(count: number, k: number): Places {
  const sums = count;
  const arrivals = sums + 2 * count;
  const arrived = arrivals + 2;
  const absent = arrived + 2 * count;
  const before = absent + 2 * count;
  return { sums, arrivals, arrived, absent, before, after: before + 2 * (count + 1) * k };
}

/** w·first is small, so that eight terms of the series are all of 1 − e^(−wt). */
function begin(work: Float64Array, { arrived, absent }: Places, count: number, first: number): void {
  for (let i = 0; i < count; i++) {
    const x = work[i] * first;
    const tail = 1 - (x / 5) * (1 - (x / 6) * (1 - (x / 7) * (1 - x / 8)));
    const p = x * (1 - (x / 2) * (1 - (x / 3) * (1 - (x / 4) * tail)));
    const doubled = p * (2 - p);
    work[arrived + 2 * i] = p;
    work[absent + 2 * i] = 1 - p;
    work[arrived + 2 * i + 1] = doubled;
    work[absent + 2 * i + 1] = 1 - doubled;
  }
}

function quadruple(work: Float64Array, { arrived, absent }: Places, count: number): void {
  for (let i = 0; i < 2 * count; i++) {
    let p = work[arrived + i];
    let e = work[absent + i];
    for (let times = 0; times < 2; times++) {
      p *= 2 - p;
      // Below a half the difference is exact enough, above it only the square is.
      e = p <= 0.5 ? 1 - p : e * e;
    }
    work[arrived + i] = p;
    work[absent + i] = e;
  }
}

function countBefore(work: Float64Array, { arrived, absent, before }: Places, live: number, k: number): void {
  for (let i = 0; i < 2 * live; i += 2) {
    const p0 = work[arrived + i];
    const p1 = work[arrived + i + 1];
    const e0 = work[absent + i];
    const e1 = work[absent + i + 1];
    const row = before + i * k;
    const next = row + 2 * k;
    let less0 = 0;
    let less1 = 0;
    for (let a = 0; a < 2 * k; a += 2) {
      const value0 = work[row + a];
      const value1 = work[row + a + 1];
      work[next + a] = e0 * value0 + p0 * less0;
      work[next + a + 1] = e1 * value1 + p1 * less1;
      less0 = value0;
      less1 = value1;
    }
  }
}

function addInclusion(work: Float64Array, places: Places, live: number, k: number, t: number): void {
  const { sums, arrived, absent, before, after } = places;
  work.fill(1, after, after + 2 * k);
  for (let i = live - 1; i >= 0; i--) {
    const p0 = work[arrived + 2 * i];
    const p1 = work[arrived + 2 * i + 1];
    const e0 = work[absent + 2 * i];
    const e1 = work[absent + 2 * i + 1];
    const row = before + 2 * i * k;
    let room0 = 0;
    let room1 = 0;
    let value0 = work[after];
    let value1 = work[after + 1];
    for (let a = 0; a < 2 * k; a += 2) {
      const fewer0 = work[after + a + 2];
      const fewer1 = work[after + a + 3];
      room0 += work[row + a] * value0;
      room1 += work[row + a + 1] * value1;
      work[after + a] = e0 * value0 + p0 * fewer0;
      work[after + a + 1] = e1 * value1 + p1 * fewer1;
      value0 = fewer0;
      value1 = fewer1;
    }
    const density = work[i] * t;
    work[sums + 2 * i] += density * e0 * room0;
    work[sums + 2 * i + 1] += 2 * density * e1 * room1;
  }
}
