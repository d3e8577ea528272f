import type { HonoRequest } from 'hono';
import { Problem } from '../problem.ts';
import { guardJson } from './json-guard.ts';
import { isJson } from './request-guard.ts';

/** Bytes of a request body unless the endpoint says otherwise. */
export const DEFAULT_BODY_LIMIT = 1024 * 1024;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The body of a request as JSON that is safe to hand on.
 * @throws Problem unsupported-media-type, body-too-large, malformed-request or validation-failed.
 */
export async function readJsonBody(
  request: HonoRequest,
  limit: number,
  { optional = false } = {},
): Promise<unknown> {
  if (optional && request.header('content-type') === undefined) {
    if ((await readBytes(request, limit)).length === 0) return {};
  }
  requireJson(request);
  const bytes = await readBytes(request, limit);
  if (optional && bytes.length === 0) return {};
  const value = parse(bytes);
  const violations = guardJson(value);
  if (violations.length > 0) throw invalid(violations);
  return value;
}

export function invalid(violations: readonly { path: string; message: string }[]): Problem {
  const first = violations[0];
  const others = violations.length > 1 ? ` and ${violations.length - 1} more` : '';
  return new Problem(
    'validation-failed',
    `${first.path}: ${first.message}${others}.`,
    'Mend what `violations` lists and send the request again. /docs shows every field with its limits.',
    { violations },
  );
}

function requireJson(request: HonoRequest): void {
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

async function readBytes(request: HonoRequest, limit: number): Promise<Uint8Array> {
  const announced = request.header('content-length');
  if (announced !== undefined && request.header('transfer-encoding') === undefined) {
    // Node's parser holds the client to the length it announced, so this needs no counting.
    if (Number(announced) > limit) throw tooLarge(limit);
    return new Uint8Array(await request.raw.arrayBuffer().catch(brokenOff));
  }
  if (request.raw.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = request.raw.body.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(brokenOff);
    if (done) return Buffer.concat(chunks, length);
    length += value.byteLength;
    if (length > limit) {
      await reader.cancel();
      throw tooLarge(limit);
    }
    chunks.push(value);
  }
}

function brokenOff(cause: unknown): never {
  throw new Problem('malformed-request', 'The body broke off before its end.', 'Send it again.', { cause });
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch (error) {
    // V8 quotes the text around the fault, which can be a user's query: only the place is passed on.
    const place = /at position \d+/.exec((error as Error).message)?.[0];
    throw new Problem(
      'malformed-request',
      bytes.length === 0 ? 'The body is empty.' : `The body is not valid JSON${place ? ` (${place})` : ''}.`,
      'Send one JSON value in UTF-8. Numbers such as NaN and Infinity do not exist in JSON.',
    );
  }
}

function tooLarge(limit: number): Problem {
  return new Problem(
    'body-too-large',
    `The body is larger than ${limit / 1024 / 1024} MB.`,
    'Split the request. Tools can be sent in several PATCH requests, rewards in batches of at most 1,000.',
  );
}
