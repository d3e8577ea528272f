import { expect, it } from 'vitest';
import { Secrets } from '../../src/sources/secrets.ts';

function secretsOf(values: Record<string, string>): Secrets {
  const secrets = new Secrets((name) => values[name]);
  for (const name of Object.keys(values)) secrets.read(name);
  return secrets;
}

it.each([
  ['as it is', 'hunter-2 3', 'said "hunter-2 3".', `said "$\{KEY}".`],
  ['percent-encoded', 'hunter/2+3', 'GET /x?key=hunter%2F2%2B3 failed', `GET /x?key=$\{KEY} failed`],
  ['escaped as in JSON', 'hun"ter\\2', '{"key":"hun\\"ter\\\\2"}', `{"key":"$\{KEY}"}`],
  [
    'as a host, in small letters',
    'HUNTER2',
    'hunter2.invalid cannot be reached',
    `$\{KEY}.invalid cannot be reached`,
  ],
  ['one line of several', 'HUNTER2\nsecond-line', 'bad: HUNTER2', `bad: $\{KEY}`],
  ['a word of a header', 'Bearer hunter23', 'no such key: hunter23', `no such key: $\{KEY}`],
  [
    'a part of an address',
    'https://a.example/?key=hunter23',
    'the key hunter23 is wrong',
    `the key $\{KEY} is wrong`,
  ],
  ['cut off at the end', 'hunter2-and-more', 'refused: hunter2-an', `refused: $\{KEY}`],
  ['twice', 'hunter2', 'hunter2hunter2', `$\{KEY}$\{KEY}`],
])('hides a value: %s', (_, value, text, hidden) => {
  expect(secretsOf({ KEY: value }).hide(text)).toBe(hidden);
});

it('hides the longer of two values, one of which begins the other', () => {
  expect(secretsOf({ SHORT: 'hunter', LONG: 'hunter-23' }).hide('it was hunter-23')).toBe(`it was $\{LONG}`);
});

it('leaves values of three characters, and variables that nobody read', () => {
  expect(secretsOf({ ON: 'yes' }).hide('yes, hunter2')).toBe('yes, hunter2');
});
