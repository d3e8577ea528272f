/** The author and the 31 latest units. */
export const UNITS_PER_CASE = 32;

/**
 * Keeps which units (hashes of users or sessions) took part in a case, so that their cases can be erased. The first one, whose
 * query the case has, is always kept; of the others the latest 31.
 */
export class CaseUnits {
  private units = new Uint32Array(0);
  private counts = new Uint8Array(0);

  /** Adds a unit. The first call for an empty case sets its author. 0: no unit was named. */
  add(place: number, unit: number): void {
    this.reserve(place + 1);
    const start = place * UNITS_PER_CASE;
    const count = this.counts[place];
    if (count > 0 && (unit === 0 || this.has(place, unit))) return;
    if (count < UNITS_PER_CASE) {
      this.units[start + count] = unit;
      this.counts[place] = count + 1;
      return;
    }
    const end = start + UNITS_PER_CASE;
    this.units.copyWithin(start + 1, start + 2, end);
    this.units[end - 1] = unit;
  }

  /** Adds the units of `place` to those of `into`. */
  merge(place: number, into: number): void {
    const start = place * UNITS_PER_CASE;
    for (let i = 0; i < (this.counts[place] ?? 0); i++) this.add(into, this.units[start + i]);
  }

  has(place: number, unit: number): boolean {
    if (place >= this.counts.length || unit === 0) return false;
    const start = place * UNITS_PER_CASE;
    for (let i = 0; i < this.counts[place]; i++) if (this.units[start + i] === unit) return true;
    return false;
  }

  clear(place: number): void {
    if (place < this.counts.length) this.counts[place] = 0;
  }

  /** Returns the units of the first `count` cases: those of the case at place i are at offsets[i] … offsets[i + 1]. */
  save(count: number): { offsets: Int32Array; units: Uint32Array } {
    const offsets = new Int32Array(count + 1);
    for (let place = 0; place < count; place++)
      offsets[place + 1] = offsets[place] + (this.counts[place] ?? 0);
    const units = new Uint32Array(offsets[count]);
    for (let place = 0; place < count; place++) {
      const start = place * UNITS_PER_CASE;
      units.set(this.units.subarray(start, start + offsets[place + 1] - offsets[place]), offsets[place]);
    }
    return { offsets, units };
  }

  static load(saved: { readonly offsets: Int32Array; readonly units: Uint32Array }): CaseUnits {
    const units = new CaseUnits();
    const count = saved.offsets.length - 1;
    units.reserve(count);
    for (let place = 0; place < count; place++) {
      const own = saved.units.subarray(saved.offsets[place], saved.offsets[place + 1]);
      units.units.set(own, place * UNITS_PER_CASE);
      units.counts[place] = own.length;
    }
    return units;
  }

  get bytes(): number {
    return this.units.byteLength + this.counts.byteLength;
  }

  private reserve(places: number): void {
    if (places <= this.counts.length) return;
    const room = Math.max(64, 2 * places);
    const units = new Uint32Array(room * UNITS_PER_CASE);
    units.set(this.units);
    this.units = units;
    const counts = new Uint8Array(room);
    counts.set(this.counts);
    this.counts = counts;
  }
}
