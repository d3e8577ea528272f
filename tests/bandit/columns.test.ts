import { describe, expect, it } from 'vitest';
import { Float32Columns, float64Columns } from '../../bandit/columns.ts';

describe('Float32Columns', () => {
  it('copies columns one behind the other, rounded to float32', () => {
    const columns = new Float32Columns(2, 2);
    const [one, other] = [columns.copy(Float64Array.of(0.1, -0)), columns.copy(Float64Array.of(1e-50, 2))];
    expect([...one]).toEqual([Math.fround(0.1), -0]);
    expect([...other]).toEqual([0, 2]);
    expect(one.buffer).toBe(other.buffer);
  });

  it('refuses a column too many', () => {
    const columns = new Float32Columns(2, 1);
    columns.copy(new Float64Array(2));
    expect(() => columns.copy(new Float64Array(2))).toThrow(RangeError);
  });
});

describe('float64Columns', () => {
  it('returns as many as are asked for, none of which overlap', () => {
    const columns = float64Columns(3, 2);
    columns[0].fill(1);
    expect(columns.map((column) => [...column])).toEqual([
      [1, 1, 1],
      [0, 0, 0],
    ]);
  });
});
