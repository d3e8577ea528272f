import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly code: string | null;
  readonly suggestedFix: string | null;
  readonly text: string;
}

/** Sends bytes as they are, which no HTTP client would, and reads until the connection ends. */
export function rawRequest(url: string, ...lines: string[]): Promise<RawAnswer> {
  return rawBytes(url, `${lines.join('\r\n')}\r\n\r\n`);
}

export async function rawBytes(url: string, bytes: string): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  let text = '';
  for await (const chunk of socket) text += chunk;
  const [head, body = ''] = text.split('\r\n\r\n');
  const problem = body.startsWith('{"type"') ? JSON.parse(body) : {};
  return {
    text,
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]),
    contentType: /^content-type: (.*)$/im.exec(head)?.[1] ?? '',
    code: problem.code ?? null,
    suggestedFix: problem.suggestedFix ?? null,
  };
}
