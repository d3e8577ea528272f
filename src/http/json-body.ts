import type { HonoRequest } from 'hono';
import { Problem, type Violation } from '../errors/problem.ts';
import { MAX_SCHEMA_DEPTH } from '../ledger/tool-definition.ts';
import { inSlices, type Steps } from '../scheduling/slices.ts';
import type { HeldBody } from './body-intake.ts';
import { invalid, notJson } from './body-problems.ts';
import { MAX_ELEMENT_VALUES, MAX_PIECE_BYTES } from './json-scanner.ts';
import { isJson } from './request-guard.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @throws Problem unsupported-media-type */
export function requireJson(request: HonoRequest): void {
  const contentType = request.header('content-type');
  if (!isJson(contentType)) {
    const sent = contentType === undefined ? 'none' : `"${contentType.slice(0, 100)}"`;
    throw new Problem(
      'unsupported-media-type',
      `The body has to be JSON; its content type is ${sent}.`,
      'Send the header `Content-Type: application/json`.',
    );
  }
  const encoding = request.header('content-encoding')?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity') {
    throw new Problem(
      'unsupported-media-type',
      `Bodies in content encoding "${encoding.slice(0, 100)}" are not accepted.`,
      'Send the body uncompressed, without a `Content-Encoding` header.',
    );
  }
}

/** A body as JSON that is safe to hand on. @throws Problem malformed-request or validation-failed. */
export async function parseBody(body: HeldBody): Promise<unknown> {
  return body.lists.length === 0 ? parse(body.bytes, []) : inSlices(parseInPieces(body));
}

/** What is in no list at once, then every element of its lists by itself. */
function* parseInPieces({ bytes, lists }: HeldBody): Steps<unknown> {
  const whole = parse(withoutLists(bytes, lists), []);
  for (const { key, bounds } of lists) {
    // A member that is there twice, as a list and as something else: the last one counts.
    const list = (whole as Record<string, unknown>)[key];
    if (!Array.isArray(list)) continue;
    for (let at = 0; at < bounds.length; at += 2) {
      list.push(parse(bytes.subarray(bounds[at], bounds[at + 1]), [key, at / 2]));
      yield;
    }
  }
  return whole;
}

function withoutLists(bytes: Uint8Array, lists: HeldBody['lists']): Uint8Array {
  const starts = [0, ...lists.map(({ end }) => end)];
  const ends = [...lists.map(({ start }) => start), bytes.length];
  return Buffer.concat(starts.map((start, i) => bytes.subarray(start, ends[i])));
}

/** @param path what it is a piece of; none: it is what is in no list. */
function parse(piece: Uint8Array, path: readonly PropertyKey[]): unknown {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(piece));
  } catch {
    // What V8 says quotes the text around the fault, which can be a user's query.
    throw notJson(path.length === 0 ? null : jsonPath(path));
  }
  const violations = guardJson(value, path);
  if (violations.length > 0) throw invalid(violations);
  return value;
}

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

/**
 * What a request may not contain as one tool, whatever its schema says: for callers who want to know before they send
 * it with others. The tool need not come from JSON: it may contain itself.
 */
export function elementFaults(element: object): Violation[] {
  let values = 1;
  const tooMuch = (value: unknown, levels: number): string | null => {
    if (typeof value !== 'object' || value === null) return null;
    if (levels === 0) return `must not be nested deeper than ${MAX_SCHEMA_DEPTH} levels`;
    const members = Object.values(value);
    values += Math.max(members.length, 1);
    if (values >= MAX_ELEMENT_VALUES) return `makes it more than ${MAX_ELEMENT_VALUES} values`;
    for (const member of members) {
      const fault = tooMuch(member, levels - 1);
      if (fault !== null) return fault;
    }
    return null;
  };
  for (const [path, member] of Object.entries(element)) {
    values++;
    const message = tooMuch(member, MAX_SCHEMA_DEPTH);
    if (message !== null) return [{ path, message }];
  }
  if (Buffer.byteLength(JSON.stringify(element)) <= MAX_PIECE_BYTES) return guardJson(element);
  return [{ path: 'all of it', message: `is longer than ${MAX_PIECE_BYTES / 1024} KB as JSON` }];
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
