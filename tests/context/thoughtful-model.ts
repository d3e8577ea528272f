import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Question {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly response_format?: object;
}

/** An answer; `silence`: none ever comes. */
export type Reply = { readonly status?: number; readonly body: string } | 'silence';

export const says = (content: unknown): Reply => ({
  body: JSON.stringify({ choices: [{ message: { content } }] }),
});
export const thinks = (thought: unknown): Reply => says(JSON.stringify({ thought }));

/** An OpenAI-compatible endpoint that is asked for thoughts, and answers as it is told to. */
export class ThoughtfulModel {
  /** What was asked, as it arrived. */
  readonly bodies: string[] = [];
  /** The queries among that. */
  readonly queries: string[] = [];
  reply: (query: string, question: Question) => Reply | Promise<Reply> = () => thinks('');
  readonly #server: Server;

  private constructor() {
    this.#server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks).toString('utf8');
      const question = JSON.parse(body) as Question;
      const query = JSON.parse(question.messages[1].content) as string;
      this.bodies.push(body);
      this.queries.push(query);
      const answer = await this.reply(query, question);
      if (answer !== 'silence') response.writeHead(answer.status ?? 200).end(answer.body);
    });
  }

  static async start(): Promise<ThoughtfulModel> {
    const model = new ThoughtfulModel();
    await new Promise<void>((resolve) => void model.#server.listen(0, '127.0.0.1', resolve));
    return model;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** From now on. */
  follow(reply: ThoughtfulModel['reply']): void {
    this.reply = reply;
    this.bodies.splice(0);
    this.queries.splice(0);
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
