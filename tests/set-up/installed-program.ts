import { spawnSync } from 'node:child_process';

/** A program that tests need: where it is, or why it is not there. */
export type InstalledProgram =
  | { readonly path: string; readonly missing: null }
  | { readonly path: null; readonly missing: string };

/**
 * Finds a program, or installs it with apt. Tests that need a missing one are skipped and say so; with `CI=true`
 * a missing one is a failure.
 *
 * @param names under which it may be installed, e.g. `chromium` and `chromium-browser`.
 */
export function installedProgram(names: readonly string[], debianPackage: string): InstalledProgram {
  const path = find(names) ?? (install(debianPackage) ? find(names) : null);
  if (path !== null) return { path, missing: null };
  const missing = `${names[0]} is not installed, and \`apt-get install ${debianPackage}\` did not work`;
  if (process.env.CI === 'true') throw new Error(`${missing}.`);
  return { path: null, missing };
}

function find(names: readonly string[]): string | null {
  for (const name of names) {
    const { status, stdout } = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
    if (status === 0) return stdout.trim();
  }
  return null;
}

function install(debianPackage: string): boolean {
  if (process.getuid?.() !== 0) return false;
  const apt = (...words: string[]) => {
    // Two test files may want this at the same time: the second waits for the lock.
    const options = ['-o', 'DPkg::Lock::Timeout=600', '-qq', '-y', '--no-install-recommends'];
    const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    return spawnSync('apt-get', [...options, ...words], { env: environment }).status === 0;
  };
  return apt('install', debianPackage) || (apt('update') && apt('install', debianPackage));
}
