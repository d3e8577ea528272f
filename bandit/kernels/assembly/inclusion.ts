// The quadrature of inclusion probabilities, t and 2t in two lanes. The reference is ../typescript-inclusion.ts.

export function sumInclusion(
  rates: usize,
  count: i32,
  k: i32,
  first: f64,
  end: f64,
  negligible: f64,
): void {
  const sums = rates + (<usize>count << 3);
  const arrivals = sums + (<usize>count << 4);
  const arrived = arrivals + 16;
  const absent = arrived + (<usize>count << 4);
  const before = absent + (<usize>count << 4);
  const after = before + (<usize>((count + 1) * k) << 4);
  const zero = f64x2.splat(0);
  const one = f64x2.splat(1);
  const two = f64x2.splat(2);
  const half = f64x2.splat(0.5);
  const oneTwo = f64x2.replace_lane(one, 1, 2);
  const rowBytes = <usize>k << 4;
  begin(rates, count, first, arrived, absent);
  let arrivalSum = zero;
  v128.store(before, one);
  let live = 0;
  for (let t = first; t < end; t *= 4) {
    while (live < count && load<f64>(rates + (<usize>live << 3)) * t > negligible) {
      addShare(rates, sums, live, arrivalSum);
      live++;
    }
    const times = f64x2.mul(f64x2.splat(t), oneTwo);

    // before[i][a]: Pr[a of the candidates before i have arrived].
    let row = before;
    for (let i: usize = 0; i < <usize>live << 4; i += 16) {
      const p = v128.load(arrived + i);
      const e = v128.load(absent + i);
      const next = row + rowBytes;
      let less = zero;
      for (let a: usize = 0; a < rowBytes; a += 16) {
        const value = v128.load(row + a);
        v128.store(next + a, f64x2.add(f64x2.mul(e, value), f64x2.mul(p, less)));
        less = value;
      }
      row = next;
    }
    let atMost = zero;
    for (let a: usize = 0; a < rowBytes; a += 16) atMost = f64x2.add(atMost, v128.load(row + a));
    arrivalSum = f64x2.add(arrivalSum, f64x2.mul(times, atMost));

    // after[a]: Pr[at most K−1−a of the candidates after i have arrived].
    for (let a: usize = 0; a < rowBytes; a += 16) v128.store(after + a, one);
    for (let i = live - 1; i >= 0; i--) {
      const at = <usize>i << 4;
      const p = v128.load(arrived + at);
      const e = v128.load(absent + at);
      row -= rowBytes;
      let room = zero;
      let value = v128.load(after);
      for (let a: usize = 0; a < rowBytes; a += 16) {
        const fewer = v128.load(after + a, 16);
        room = f64x2.add(room, f64x2.mul(v128.load(row + a), value));
        v128.store(after + a, f64x2.add(f64x2.mul(e, value), f64x2.mul(p, fewer)));
        value = fewer;
      }
      const density = f64x2.mul(oneTwo, f64x2.splat(load<f64>(rates + (<usize>i << 3)) * t));
      const share = f64x2.mul(f64x2.mul(density, e), room);
      v128.store(sums + at, f64x2.add(v128.load(sums + at), share));
    }

    for (let i: usize = 0; i < <usize>count << 4; i += 16) {
      let p = v128.load(arrived + i);
      let e = v128.load(absent + i);
      for (let twice = 0; twice < 2; twice++) {
        p = f64x2.mul(p, f64x2.sub(two, p));
        e = v128.bitselect(f64x2.sub(one, p), f64x2.mul(e, e), f64x2.le(p, half));
      }
      v128.store(arrived + i, p);
      v128.store(absent + i, e);
    }
  }
  for (let i = live; i < count; i++) addShare(rates, sums, i, arrivalSum);
  v128.store(arrivals, f64x2.add(v128.load(arrivals), arrivalSum));
}

/** 1 − e^(−wt) at first and 2·first, from eight terms of the series. */
function begin(rates: usize, count: i32, first: f64, arrived: usize, absent: usize): void {
  for (let i = 0; i < count; i++) {
    const x = load<f64>(rates + (<usize>i << 3)) * first;
    const tail = 1 - (x / 5) * (1 - (x / 6) * (1 - (x / 7) * (1 - x / 8)));
    const p = x * (1 - (x / 2) * (1 - (x / 3) * (1 - (x / 4) * tail)));
    const at = <usize>i << 4;
    const doubled = p * (2 - p);
    store<f64>(arrived + at, p);
    store<f64>(absent + at, 1 - p);
    store<f64>(arrived + at, doubled, 8);
    store<f64>(absent + at, 1 - doubled, 8);
  }
}

function addShare(rates: usize, sums: usize, i: i32, arrivalSum: v128): void {
  const at = sums + (<usize>i << 4);
  const rate = v128.load64_splat(rates + (<usize>i << 3));
  v128.store(at, f64x2.add(v128.load(at), f64x2.mul(rate, arrivalSum)));
}
