import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../config/package-root.ts';

interface LockedPackage {
  readonly version: string;
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly hasInstallScript?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const lock = JSON.parse(readFileSync(join(packageRoot(), 'package-lock.json'), 'utf8'));
const packages: Readonly<Record<string, LockedPackage>> = lock.packages;
const INNER = 'node_modules/';

/** Where Node finds a package that the one at `place` asks for; null: nowhere. */
function found(place: string, name: string): string | null {
  for (let folder = place; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf(`/${INNER}`)))) {
    const candidate = `${folder === '' ? '' : `${folder}/`}${INNER}${name}`;
    if (candidate in packages) return candidate;
    if (folder === '') return null;
  }
}

describe('package-lock.json', () => {
  it('holds every package that one of its packages asks for, optional ones of all platforms included', () => {
    const missing: string[] = [];
    for (const [place, { dependencies, optionalDependencies }] of Object.entries(packages)) {
      for (const [name, wanted] of Object.entries({ ...dependencies, ...optionalDependencies })) {
        const at = found(place, name);
        const isPinned = /^\d+\.\d+\.\d/.test(wanted);
        if (at === null || (isPinned && packages[at].version !== wanted))
          missing.push(`${place}: ${name} ${wanted}`);
      }
    }
    expect(missing).toEqual([]);
  });

  it('holds every package of a platform once, as an optional one', () => {
    const places = Object.keys(packages).filter((place) => packages[place].cpu !== undefined);
    expect(places.length).toBeGreaterThan(40);
    const names = places.map((place) => place.slice(place.lastIndexOf(INNER) + INNER.length));
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
    expect(places.filter((place) => packages[place].optional !== true)).toEqual([]);
  });

  it('has a checksum for every package', () => {
    const without = Object.keys(packages).filter(
      (place) => place !== '' && packages[place].integrity === undefined,
    );
    expect(without).toEqual([]);
  });

  it('runs no install script of onnxruntime-node, which would download libraries for graphics cards', () => {
    // npm of before 11.16 knows no `allowScripts`; it runs the scripts of what the lock says has some. `npm install` may write it again.
    const { optional, hasInstallScript } = packages['node_modules/onnxruntime-node'];
    expect({ optional, hasInstallScript }).toEqual({ optional: true, hasInstallScript: undefined });
  });
});
