import { describe, expect, it } from 'vitest';
import { definitionHash } from '../../src/ledger/definition-hash.ts';

const tool = (description: string, parameter = 'Which city.') => ({
  name: 'forecast',
  description,
  inputSchema: { properties: { city: { type: 'string', description: parameter } } },
});
const same = (one: object, other: object, ignoreDates: boolean): boolean =>
  definitionHash(one as never, { ignoreDates }) === definitionHash(other as never, { ignoreDates });

describe('definitionHash', () => {
  it.each([
    ['2026-11-20', '2026-11-21'],
    ['2026-11-20T08:15:00Z', '2027-01-01T23:59:59.123+01:00'],
    ['2026-11-20 08:15', '2026-11-21 09:16:17'],
    ['20.11.2026', '1.1.2027'],
    ['11/20/2026', '01/02/2027'],
    ['Nov 20, 2026', 'December 3rd, 2026'],
    ['20 November 2026', '21 Nov. 2026'],
    ['November 2026', 'May 2027'],
    ['8:15 pm', '21:47:03'],
    ['1763800000', '1763800000123'],
  ])('counts %s and %s as the same where dates do not count', (one, other) => {
    const [before, after] = [tool(`Weather, as of ${one}.`), tool(`Weather, as of ${other}.`)];
    expect(same(before, after, true)).toBe(true);
    expect(same(before, after, false)).toBe(false);
    expect(same(tool('Weather.', `Data of ${one}`), tool('Weather.', `Data of ${other}`), true)).toBe(true);
  });

  it.each([
    ['At most 100 results.', 'At most 250 results.'],
    ['Uses version 1.2.3.', 'Uses version 1.2.4.'],
    ['Port 8080', 'Port 8081'],
    ['The year 2026', 'The year 2027'],
    ['As of 2026-11-20: rain.', 'As of 2026-11-20: snow.'],
  ])('counts “%s” and “%s” as different', (one, other) => {
    expect(same(tool(one), tool(other), true)).toBe(false);
  });

  it('looks at descriptions only, and is what it was where there are no dates', () => {
    expect(same({ ...tool('x'), name: 'on 2026-11-20' }, { ...tool('x'), name: 'on 2026-11-21' }, true)).toBe(
      false,
    );
    expect(definitionHash(tool('Weather.'), { ignoreDates: true })).toBe(definitionHash(tool('Weather.')));
    // No input makes it slow.
    definitionHash(tool('1'.repeat(500_000) + ' Jan '.repeat(50_000)), { ignoreDates: true });
  });
});
