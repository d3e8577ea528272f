import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a bench sends to a chat endpoint. */
export interface ChatRequest {
  readonly authorization: string | undefined;
  readonly model: string;
  readonly temperature: number;
  readonly max_tokens: number;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

/** A local OpenAI-compatible endpoint whose model is a function: what it says to a request, or a status to fail with. */
export class ChatServer {
  readonly requests: ChatRequest[] = [];
  readonly #server: Server;

  private constructor(model: (request: ChatRequest, at: number) => string | number) {
    this.#server = createServer(async (incoming, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
      const request: ChatRequest = { ...body, authorization: incoming.headers.authorization };
      const said = incoming.url === '/v1/chat/completions' ? model(request, this.requests.length) : 404;
      this.requests.push(request);
      response.statusCode = typeof said === 'number' ? said : 200;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content: said } }] }));
    });
  }

  static async start(model: (request: ChatRequest, at: number) => string | number): Promise<ChatServer> {
    const server = new ChatServer(model);
    await new Promise<void>((resolve) => void server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
