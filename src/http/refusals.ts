import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { Problem } from '../errors/problem.ts';
import { requestId } from './answer-headers.ts';
import { PROBLEM_STATUS, problemHeaders, problemJson } from './problem-json.ts';

/** How long a refused body is still read: a client that is cut off while it sends may never see its answer. */
const LINGER_MS = 500;

/** Answers a problem in the place of the app. */
export function refuse(request: IncomingMessage, response: ServerResponse, problem: Problem): void {
  const { headers, body } = answerOf(problem, request.headers['x-request-id']);
  response.writeHead(PROBLEM_STATUS[problem.code], headers);
  response.end(request.method === 'HEAD' ? undefined : body);
  response.once('finish', () => {
    if (request.complete) return;
    const cutOff = setTimeout(() => request.socket.destroySoon(), LINGER_MS);
    request.once('close', () => clearTimeout(cutOff));
  });
}

/**
 * Answers a problem where Node could make no request of what came, then ends the connection. Node says so again for each piece that
 * still comes: those are read and thrown away, as a connection that is cut may take the answer with it.
 */
export function refuseConnection(socket: Duplex, problem: Problem): void {
  if (socket.writableEnded) return;
  if (!socket.writable) return void socket.destroy();
  const { headers, body } = answerOf(problem, undefined);
  const lines = Object.entries({ ...headers, connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  socket.end([`HTTP/1.1 ${PROBLEM_STATUS[problem.code]} Refused`, ...lines, '', body].join('\r\n'));
  socket.resume();
  const cutOff = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(cutOff));
}

function answerOf(problem: Problem, givenId: string | string[] | undefined) {
  const id = requestId(givenId?.toString());
  const body = JSON.stringify(problemJson(problem, id));
  const headers = {
    ...problemHeaders(problem),
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': id,
    'x-content-type-options': 'nosniff',
  };
  return { headers, body };
}

/** What Node's parser says of what it cannot read. */
export function parserProblem({ code }: NodeJS.ErrnoException): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem(
        'headers-too-large',
        'Target and headers are larger than 16 KB together.',
        'Send fewer and shorter headers; what is long belongs into the body.',
      );
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new Problem(
        'body-too-large',
        'The chunks of the body have extensions of more than 16 KB.',
        'Send the body without chunk extensions.',
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem(
        'request-timeout',
        'The request did not arrive in time.',
        'Send it again, in one go. If it is large, split it.',
      );
    default:
      return new Problem(
        'malformed-request',
        `What arrived is no HTTP/1.1 request${code === undefined ? '' : ` (${code})`}.`,
        'Ask with an ordinary HTTP client, such as curl, under http:// (not https://).',
      );
  }
}

export function unknownExpectation(): Problem {
  return new Problem(
    'expectation-failed',
    'The only expectation that can be met is `100-continue`.',
    'Leave the header `Expect` out.',
  );
}

export function noTunnel(): Problem {
  return new Problem(
    'method-not-allowed',
    'CONNECT is not possible here.',
    'Use GET, PUT, POST, PATCH or DELETE.',
  );
}
