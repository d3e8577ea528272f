/** Something the person at the terminal can mend; the message says how. It is printed without a stack. */
export class UserError extends Error {
  override readonly name = 'UserError';
}

/** Names of errors whose message is meant for people; all others are faults of ours. */
const FOR_PEOPLE = new Set([
  'UserError',
  'UnreadableError',
  'ApiProblem',
  'SettingsError',
  'ListenError',
  'Problem',
  'DataFolderLockedError',
  'OtherVersionError',
  'UnusableModelError',
  'EmbedderUnavailableError',
  'OutgoingError',
  'McpConfigError',
  'TokenStoreError',
  'LoginError',
  'PullError',
  'LedgerCorruptError',
  'RedisLostError',
  'RedisUnusableError',
  'CopyRefusedError',
  'StorageCorruptError',
  'StorageIncompleteError',
  'LockLostError',
  'StoreUnavailableError',
]);

/** What the system refused, by its code: the reader can mend it. */
const REFUSED: Readonly<Record<string, string>> = {
  EPERM: 'may not be used by this user: change its owner or its permissions, or name another one',
  EACCES: 'may not be used by this user: change its owner or its permissions, or name another one',
  ENOENT: 'is not there',
  ENOTDIR: 'is not a folder',
  EISDIR: 'is a folder',
  EROFS: 'is on a disk that can only be read',
  ENOSPC: 'does not fit: the disk is full',
  EMFILE: 'cannot be opened: this process has too many files open; raise `ulimit -n`',
};

/** What to print for an error that ends the program. */
export function lastWords(error: unknown): string {
  if (!(error instanceof Error)) return `bandolier: ${String(error)}`;
  if (FOR_PEOPLE.has(error.name)) return `bandolier: ${wordsOf(error)}`;
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  const why = code === undefined ? undefined : REFUSED[code];
  if (why !== undefined) return `bandolier: ${path ?? syscall ?? 'A file'} ${why} (${code}).`;
  return `bandolier: something went wrong that should not have.\n${error.stack ?? error.message}`;
}

/** A problem says beside what is wrong how to mend it. */
function wordsOf(error: Error & { readonly suggestedFix?: string }): string {
  const { name, message, suggestedFix } = error;
  return name === 'Problem' && suggestedFix !== undefined ? `${message} ${suggestedFix}` : message;
}

/** What a command found: as JSON for programs, else as text for people. */
export function print(json: boolean | undefined, value: unknown, text: string): void {
  if (json) printJson(value);
  else process.stdout.write(text);
}

/** For programs: everything that is known, on standard output. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** A number with its noun: "1 tool", "2 tools". */
export function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}

/** The text with one full stop at its end. */
export function sentence(text: string): string {
  return `${text.replace(/[.\s]+$/, '')}.`;
}

/** A share for people; null: it is not known. */
export function percent(share: number | null): string {
  return share === null ? '–' : `${Math.round(share * 100)} %`;
}

/** Columns padded to their widest cell, one line per row. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

/** Resolves at the first Ctrl-C or SIGTERM; the second one ends the process at once. */
export function untilInterrupted(): Promise<void> {
  return new Promise((resolve) => {
    let signals = 0;
    const onSignal = () => {
      signals++;
      if (signals === 1) resolve();
      else process.exit(130);
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}
