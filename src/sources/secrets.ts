/** Returns the value of a variable of the environment. */
export type ReadVariable = (name: string) => string | undefined;

/** A reference to a variable of the environment: `${NAME}`. */
const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]{0,127})\}/g;

/** Returns the names of the variables that a text refers to. */
export function referencesIn(text: string): string[] {
  return Array.from(text.matchAll(REFERENCE), ([, name]) => name);
}

/** A variable that a definition refers to is not set. The message names it, and no value. */
class MissingVariableError extends Error {
  override readonly name = 'MissingVariableError';
}

/** Puts the values of variables where a text refers to them. @throws MissingVariableError */
export function withSecrets(text: string, read: ReadVariable): string {
  return text.replace(REFERENCE, (_, name: string) => {
    const value = read(name);
    if (value !== undefined) return value;
    throw new MissingVariableError(
      `The variable ${name} is not set where the service runs: set it, and start the service again.`,
    );
  });
}

/** The same for every value of an object, such as headers. @throws MissingVariableError */
export function allWithSecrets(
  values: Readonly<Record<string, string>>,
  read: ReadVariable,
): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, withSecrets(value, read)]));
}

/** Shorter values are no secrets, and are left where they stand: "on" and "1" are everywhere. */
const SHORTEST_VALUE = 4;
/** So long a piece of a value tells enough of it. */
const SHORTEST_PIECE = 6;

/**
 * Reads variables, and remembers which, so that their names take the place of their values again in what is stored, answered
 * or logged: messages of servers and of libraries quote what they were sent.
 */
export class Secrets {
  readonly #read: ReadVariable;
  /** Names by value. */
  readonly #names = new Map<string, string>();
  #hidden: { readonly pattern: RegExp; readonly names: ReadonlyMap<string, string> } | null = null;

  constructor(read: ReadVariable) {
    this.#read = read;
  }

  readonly read: ReadVariable = (name) => {
    const value = this.#read(name);
    if (value !== undefined) this.keep(name, value);
    return value;
  };

  /** Has a value hidden that was read elsewhere. */
  keep(name: string, value: string): void {
    if (value.trim().length < SHORTEST_VALUE || this.#names.has(value)) return;
    this.#names.set(value, name);
    this.#hidden = null;
  }

  /**
   * Returns the text with `${NAME}` in place of each value that was read: also where it is percent-encoded, escaped as in JSON,
   * in small letters, as a host is, or cut off at the end of the text, as long messages are.
   */
  readonly hide = (text: string): string => {
    if (this.#names.size === 0) return text;
    this.#hidden ??= hiddenForms(this.#names);
    const { pattern, names } = this.#hidden;
    const whole = text.replace(pattern, (form) => `\${${names.get(form.toLowerCase()) ?? 'secret'}}`);
    const lower = whole.toLowerCase();
    for (const [form, name] of names) {
      for (let length = Math.min(form.length - 1, lower.length); length >= SHORTEST_PIECE; length--) {
        if (form.startsWith(lower.slice(-length))) return `${whole.slice(0, -length)}\${${name}}`;
      }
    }
    return whole;
  };
}

/** Names by the forms, in small letters, that values take in messages; the pattern finds the longest first. */
function hiddenForms(values: ReadonlyMap<string, string>): { pattern: RegExp; names: Map<string, string> } {
  const names = new Map<string, string>();
  for (const [value, name] of values) {
    for (const part of [value, value.trim(), ...piecesOf(value)]) {
      const encoded = [encodeURIComponent, encodeURI].map((encode) => encode(Buffer.from(part).toString()));
      for (const form of [part, ...encoded, JSON.stringify(part).slice(1, -1)])
        names.set(form.toLowerCase(), name);
    }
  }
  const longestFirst = [...names.keys()].sort((a, b) => b.length - a.length);
  const forms = longestFirst.map((form) => form.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return { pattern: new RegExp(forms.join('|'), 'gi'), names };
}

/** Words of a value, since messages are made of lines and headers are split; the secrets in one that is an address. */
function piecesOf(value: string): string[] {
  const { username, password, search, searchParams } = URL.canParse(value) ? new URL(value) : NO_ADDRESS;
  const parts = [...value.split(/\s+/), username, password, search, ...searchParams.values()];
  return parts.filter((part) => part.length >= SHORTEST_PIECE);
}

const NO_ADDRESS = { username: '', password: '', search: '', searchParams: new URLSearchParams() };
