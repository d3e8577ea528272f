import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const { files }: { files: readonly string[] } = JSON.parse(read('package.json'));
/** Of the package, what the running service reads beside its own code. */
const data = files.filter((path) => path.startsWith('models/') || path.startsWith('bandit/'));
const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, from]) =>
  from.split(' '),
);
const allowed = read('.dockerignore')
  .split('\n')
  .filter((line) => line.startsWith('!'))
  .map((line) => line.slice(1));

describe('the image', () => {
  it('has every model and kernel that the package has', () => {
    expect(data.length).toBeGreaterThan(2);
    expect(copied).toEqual(expect.arrayContaining(data));
  });

  it('is built from files that exist, and that are sent to its build', () => {
    for (const path of copied) {
      expect(existsSync(new URL(path, root)), path).toBe(true);
      expect(
        allowed.some((one) => path === one || path.startsWith(`${one}/`)),
        path,
      ).toBe(true);
    }
  });
});
