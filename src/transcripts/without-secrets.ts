/** Characters of a text that are kept: of longer ones nobody reads the rest. */
const LONGEST_TEXT = 32_000;

/** What stands before a value. A password may be any word that somebody chose; a key is made by a machine. */
const PASSWORD = '(?:password|passwd|passphrase|pwd)';
const KEY = '(?:secret|token|api[ _-]?key|access[ _-]?key|authorization|bearer|basic)';
const QUOTE = '(?:\\\\?["\'])?';
const VALUE = '(?:"[^"\\n]{1,400}"|\'[^\'\\n]{1,400}\'|[^\\s"\'\\\\&;,]{1,4000})';

const after = (name: string, between: string): RegExp =>
  new RegExp(`(?<=${name}${QUOTE}\\s{0,4}${between}\\s{0,4}${QUOTE})${VALUE}`, 'gi');
const saidOf = (name: string): RegExp =>
  new RegExp(`(?<=\\b${name}\\s{1,4}(?:(?:is|was)\\s{1,4})?)${VALUE}`, 'gi');

/** Keys and tokens as services make them: nothing else begins like this. */
const MADE_BY_SERVICES = new RegExp(
  [
    '-----BEGIN [A-Z ]{3,40}-----[\\s\\S]*?(?:-----END [A-Z ]{3,40}-----|$)',
    '\\b(?:gh[opsur]_|npm_|hf_)[A-Za-z0-9]{16,}',
    '\\b(?:github_pat_|glpat-|whsec_|xox[abposr]-|ya29\\.|AIza|GOCSPX-)[A-Za-z0-9_.-]{12,}',
    '\\b[spr]k_(?:live|test)_[A-Za-z0-9]{10,}',
    '\\b(?:AKIA|ASIA)[A-Z0-9]{16,}',
    '\\bSG\\.[A-Za-z0-9_-]{16,}\\.[A-Za-z0-9_-]{16,}',
    '\\beyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}(?:\\.[A-Za-z0-9_-]*)?',
    '(?<=://[^\\s/:@]{0,100}:)[^\\s/@]{1,200}(?=@)',
  ].join('|'),
  'g',
);

/** A word of at least so many characters, unless it is the hash of a commit. */
const longWord = (characters: string, least: number): RegExp =>
  new RegExp(
    `(?<!\\b(?:commits?|revert|revision|checkout|cherry-pick)[\\s/:]{1,2}|[${characters}])[${characters}]{${least},}`,
    'g',
  );

/** Where a secret may stand, and which of the texts that stand there are secrets. */
const RULES: readonly (readonly [RegExp, (found: string) => boolean])[] = [
  [MADE_BY_SERVICES, () => true],
  [/\b[spr]k[-_][A-Za-z0-9_-]{16,4000}/g, isMade],
  // Nobody puts a sentence behind a sign of equality.
  [after(`(?:${PASSWORD}|${KEY})`, '='), (value) => !isAboutPasswords(value)],
  [after(PASSWORD, ':'), (value) => !isAboutPasswords(value)],
  [after(KEY, ':'), (value) => value.length >= 6 && (/^["']/.test(value) || isMade(value))],
  [saidOf(PASSWORD), (value) => /^(?=.*[A-Za-z])(?=.*[0-9!@#$%^&*+=?~].).{6,}$/.test(value)],
  [saidOf(KEY), (value) => value.length >= 8 && isMade(value)],
  [longWord('A-Za-z0-9+/_=-', 32), (word) => isMade(word) && !/(?:^|\/)[a-z]{4,}(?=\/|$)/.test(word)],
  // In a path, which has other words as well.
  [longWord('A-Za-z0-9', 20), isMade],
];

/** Returns the text with a blank in place of everything that looks like a key, a token or a password. */
export function withoutSecrets(text: string): string {
  return RULES.reduce(
    (rest, [place, isSecret]) => rest.replace(place, (found) => (isSecret(found) ? ' ' : found)),
    text.slice(0, LONGEST_TEXT),
  );
}

/** `password: required` */
function isAboutPasswords(value: string): boolean {
  return /^(?:[a-z]{1,3}|required|optional|string|text|null|none|true|false|missing|invalid|wrong|incorrect|expired|empty|hidden|unknown|forgotten|changed)\W*$/i.test(
    value,
  );
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Words and numbers of what people name have five characters in the mean; of what is drawn at random, two. */
const LONGEST_PARTS = 3.3;

/** Whether a machine drew these characters: capitals, small letters and digits alternate too often for words and numbers. */
function isMade(text: string): boolean {
  if (UUID.test(text)) return false;
  const isMixed = /[A-Za-z]/.test(text) && (/[0-9]/.test(text) || /[a-z][A-Z]/.test(text));
  const parts = text.match(/[A-Z]?[a-z]+|[A-Z]+|[0-9]+/g) ?? [];
  return isMixed && parts.join('').length < LONGEST_PARTS * parts.length;
}
