import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const SERVER_DIMENSIONS = 8;

export interface EmbeddingsServer {
  readonly url: string;
  /** What was asked, newest last. */
  readonly requests: { readonly input: readonly string[]; readonly authorization: string | undefined }[];
  /** What happens to requests from now on; null: they are answered with embeddings. */
  misbehave(
    how: ((request: IncomingMessage, response: ServerResponse, input: string[]) => void) | null,
  ): void;
  close(): Promise<void>;
}

/** Two texts with the same letters are the same to it. */
export function letterVector(text: string, dimensions = SERVER_DIMENSIONS): number[] {
  const counts = new Array<number>(dimensions).fill(0);
  for (const letter of text.toLowerCase()) {
    counts[(letter.codePointAt(0) ?? 0) % dimensions] += letter.trim() === '' ? 0 : 1;
  }
  return counts;
}

/** Speaks like an OpenAI-compatible embeddings service on this machine, and misbehaves if told to. */
export async function startEmbeddingsServer(dimensions = SERVER_DIMENSIONS): Promise<EmbeddingsServer> {
  let misbehaviour: Parameters<EmbeddingsServer['misbehave']>[0] = null;
  const requests: EmbeddingsServer['requests'] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { input } = JSON.parse(Buffer.concat(chunks).toString()) as { input: string[] };
    requests.push({ input, authorization: request.headers.authorization });
    if (misbehaviour !== null) return misbehaviour(request, response, input);
    const data = input.map((text, index) => ({ index, embedding: letterVector(text, dimensions) }));
    response.setHeader('content-type', 'application/json');
    // Services may answer in any order.
    response.end(JSON.stringify({ object: 'list', data: data.reverse() }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    misbehave: (how) => {
      misbehaviour = how;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
