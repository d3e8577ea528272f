import { hash } from 'node:crypto';

/** What every provider takes as the name of a function; MCP servers have names with dots, slashes and blanks, too. */
const TAKEN_BY_ALL = /^[a-zA-Z0-9_-]{1,64}$/;
const LONGEST = 64;
/** What marks a name that was made: ten digits of base 36. */
const TAIL = /-x[0-9a-z]{10}$/;
const TAIL_DIGITS = 10;

/**
 * Returns the name of a tool as language models get it: `[a-zA-Z0-9_-]`, 64 characters at most. A name that is so already stays
 * as it is. Any other gets `_` for what providers refuse, is cut, and ends with a digest of the whole name:
 * `mail.search` is `mail_search-x0123456789`. So it depends on the name alone, and `ToolTable.nameOf` finds the tool again. A name
 * that looks as if it was made gets a digest too, so that no tool can have the provider name of another one.
 */
export function providerName(name: string): string {
  if (TAKEN_BY_ALL.test(name) && !TAIL.test(name)) return name;
  const digest = BigInt(`0x${hash('sha256', name).slice(0, 16)}`).toString(36);
  const readable = name.replace(/[^a-zA-Z0-9_-]+/g, '_').slice(0, LONGEST - TAIL_DIGITS - 2);
  return `${readable}-x${digest.padStart(TAIL_DIGITS, '0').slice(-TAIL_DIGITS)}`;
}
