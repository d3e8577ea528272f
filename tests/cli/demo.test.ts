import { expect, it } from 'vitest';
import { sparkline } from '../../src/cli/demo.ts';
import { table } from '../../src/cli/terminal.ts';

it('draws a bar per block, from nothing to everything', () => {
  expect(sparkline([0, 0.5, 1])).toBe('▁▅█');
  expect(sparkline(Array(480).fill(0.99))).toBe('█'.repeat(24));
  expect(sparkline(Array.from({ length: 25 }, () => 0))).toHaveLength(13);
});

it('pads columns to their widest cell and leaves no blanks at the end', () => {
  expect(
    table([
      ['a', 'bcd'],
      ['efgh', 'i'],
    ]),
  ).toBe('a     bcd\nefgh  i\n');
});
