import { describe, expect, it } from 'vitest';
import { AppendedEntries } from '../../src/ledger/appended-entries.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import { decision, observe, report } from '../state/entries.ts';

const KILOBYTE = 1024;

function observation(): Entry {
  return observe(decision('a', ['t']), [report('r', 't')]);
}

function positions(found: readonly { readonly position: number }[] | null): number[] | null {
  return found === null ? null : found.map(({ position }) => position);
}

describe('AppendedEntries', () => {
  it('holds half a megabyte of records that nobody has read, the newest ones', () => {
    const appended = new AppendedEntries();
    for (let position = 1; position <= 1000; position++) appended.push(position, observation(), KILOBYTE);
    expect(appended.after(487, 10)).toBeNull();
    expect(positions(appended.after(488, 3))).toEqual([489, 490, 491]);
    expect(positions(appended.after(488, 1000))).toHaveLength(512);
  });

  it('has room again for as much as was read', () => {
    const appended = new AppendedEntries();
    for (let position = 1; position <= 512; position++) appended.push(position, observation(), KILOBYTE);
    appended.after(256, 1);
    for (let position = 513; position <= 768; position++) appended.push(position, observation(), KILOBYTE);
    expect(positions(appended.after(256, 1))).toEqual([257]);
    appended.push(769, observation(), KILOBYTE);
    expect(appended.after(256, 1)).toBeNull();
    expect(positions(appended.after(257, 1))).toEqual([258]);
  });

  it('does not hold a record that is larger than all of its room', () => {
    const appended = new AppendedEntries();
    appended.push(1, observation(), KILOBYTE);
    appended.push(2, observation(), 600 * KILOBYTE);
    expect(appended.after(0, 2)).toBeNull();
    expect(appended.after(1, 2)).toBeNull();
    appended.push(3, observation(), KILOBYTE);
    expect(positions(appended.after(2, 2))).toEqual([3]);
  });

  it('gives nothing across a gap', () => {
    const appended = new AppendedEntries();
    appended.push(1, observation(), KILOBYTE);
    appended.push(3, observation(), KILOBYTE);
    expect(appended.after(0, 2)).toBeNull();
    expect(positions(appended.after(2, 2))).toEqual([3]);
  });

  it('gives nothing across an entry that has to be decoded', () => {
    const appended = new AppendedEntries();
    appended.push(1, observation(), KILOBYTE);
    appended.push(2, { kind: 'forget', key: 'forget/1', at: 1, unit: 1 }, KILOBYTE);
    appended.push(3, observation(), KILOBYTE);
    expect(appended.after(0, 3)).toBeNull();
    expect(positions(appended.after(2, 3))).toEqual([3]);
  });
});
