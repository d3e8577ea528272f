import type { Violation } from '../problem.ts';

/**
 * What no body may contain, whatever its schema says: `__proto__` keys and numbers that overflow to infinity.
 * Free-form parts (input schemas, metadata) are not described by any schema of ours, so this looks at every value.
 * `constructor` and `prototype` are ordinary names here: nothing merges what it parsed.
 *
 * @param value not nested so deep that this cannot be recursive: `JsonScanner` has refused that.
 * @param within where the value is.
 * @returns the first few violations, none if the value is harmless.
 */
export function guardJson(value: unknown, within: readonly PropertyKey[] = [], limit = 20): Violation[] {
  const violations: Violation[] = [];
  const path: PropertyKey[] = [...within];
  visit(value);
  return violations;

  function visit(current: unknown): void {
    if (typeof current === 'number') {
      if (!Number.isFinite(current)) report('is too large for a number');
    } else if (Array.isArray(current)) {
      for (let i = 0; i < current.length; i++) step(i, current[i]);
    } else if (typeof current === 'object' && current !== null) {
      for (const key of Object.keys(current)) step(key, (current as Record<string, unknown>)[key]);
    }
  }

  function step(key: string | number, item: unknown): void {
    if (violations.length >= limit) return;
    path.push(key);
    if (key === '__proto__') report('is not allowed as a name');
    visit(item);
    path.pop();
  }

  function report(message: string): void {
    violations.push({ path: jsonPath(path), message });
  }
}

/** `tools[3].name` for `['tools', 3, 'name']`; a name that is no identifier is quoted. */
export function jsonPath(segments: readonly PropertyKey[]): string {
  let path = '';
  for (const segment of segments) {
    path = typeof segment === 'number' ? `${path}[${segment}]` : member(path, String(segment));
  }
  return path.length <= 200 ? path : `${path.slice(0, 120)}…${path.slice(-60)}`;
}

function member(path: string, key: string): string {
  if (!/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}
