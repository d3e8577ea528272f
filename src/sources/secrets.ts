/** Returns the value of a variable of the environment. */
export type ReadVariable = (name: string) => string | undefined;

/** A reference to a variable of the environment: `${NAME}`. */
const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]{0,127})\}/g;

/** Returns the names of the variables that a text refers to. */
export function referencesIn(text: string): string[] {
  return Array.from(text.matchAll(REFERENCE), ([, name]) => name);
}

/** A variable that a definition refers to is not set. The message names it, and no value. */
export class MissingVariableError extends Error {
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
