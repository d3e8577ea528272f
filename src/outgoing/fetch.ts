import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { ask, OutgoingError } from './request.ts';

/** What every request of one `fetch` keeps to. */
export interface FetchRules {
  /** Addresses of this machine and of its own network may be asked. */
  readonly allowPrivate: boolean;
  /** The host of this address may be a private one in any case: the operator himself named it. */
  readonly trusted?: string | undefined;
  /** Longest time until an answer begins, ms. An answer that has begun may pause, as streams of events do. */
  readonly timeoutMs: number;
  /** Longest body in bytes; of a stream of events, the longest event. */
  readonly maxBytes: number;
}

/**
 * `fetch` for libraries that take one, made of `ask`: addresses are checked where the connection is made. Redirects
 * are answered as they are and never followed, so the library follows them through this function, and they are
 * checked again. Bodies are text. @throws OutgoingError
 */
export function outgoingFetch(rules: FetchRules): typeof fetch {
  return async (input, init) => {
    const request = input instanceof Request ? input : null;
    const address = request?.url ?? String(input);
    const method = (init?.method ?? request?.method ?? 'GET').toUpperCase();
    if (method !== 'GET' && method !== 'POST' && method !== 'DELETE') {
      throw new OutgoingError(`${method} is not a method that we ask with`, false);
    }
    const body = init?.body == null ? undefined : String(init.body);
    const headers = new Headers(init?.headers ?? request?.headers);
    if (init?.body instanceof URLSearchParams && !headers.has('content-type')) {
      headers.set('content-type', 'application/x-www-form-urlencoded');
    }
    const signal = init?.signal ?? undefined;
    const answer = await ask(address, {
      method,
      headers: Object.fromEntries(headers),
      ...(body === undefined ? {} : { body }),
      timeoutMs: rules.timeoutMs,
      allowPrivate: rules.allowPrivate || isTrusted(address, rules),
      redirects: 'answered',
      resend: method !== 'POST',
      ...(signal === undefined ? {} : { signal }),
    });
    // The head is there: from here on a silent stream is no failure, and whoever reads it has a signal.
    answer.setTimeout(0);
    return responseOf(answer, rules.maxBytes);
  };
}

function isTrusted(address: string, { trusted }: FetchRules): boolean {
  if (trusted === undefined || !URL.canParse(trusted) || !URL.canParse(address)) return false;
  return new URL(address).hostname === new URL(trusted).hostname;
}

function responseOf(answer: IncomingMessage, maxBytes: number): Response {
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headersDistinct)) {
    for (const one of value ?? []) headers.append(name, one);
  }
  const status = answer.statusCode ?? 502;
  const init = { status, statusText: answer.statusMessage ?? '', headers };
  if (status === 204 || status === 205 || status === 304) {
    answer.resume();
    return new Response(null, init);
  }
  const isEvents = headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  // A body that nobody reads is let go when it is cancelled or the request is aborted.
  const bounded = Readable.from(limited(answer, maxBytes, isEvents), {
    objectMode: false,
    highWaterMark: 64_000,
  });
  return new Response(Readable.toWeb(bounded) as ReadableStream<Uint8Array>, init);
}

async function* limited(
  answer: IncomingMessage,
  maxBytes: number,
  isEvents: boolean,
): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    // Events end with an empty line.
    const end = isEvents ? Math.max(chunk.lastIndexOf('\n\n'), chunk.lastIndexOf('\r\n\r\n')) : -1;
    size = end < 0 ? size + chunk.length : chunk.length - end;
    if (size > maxBytes) {
      answer.destroy();
      throw new OutgoingError(`the answer is longer than ${maxBytes} bytes`, false);
    }
    yield chunk;
  }
}
