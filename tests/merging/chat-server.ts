import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ChatSettings } from '../../src/models/http/chat-endpoint.ts';

interface Asked {
  readonly system: string;
  /** The JSON of the user's message. */
  readonly data: Record<string, unknown>;
  readonly body: Record<string, unknown>;
}

export interface Answered {
  readonly status?: number;
  /** What the model says: text, or what is sent as JSON. */
  readonly content?: unknown;
  readonly tokens?: number;
}

/** A chat endpoint on this machine that answers as it is told to, and remembers what it was asked. */
export async function chatServer() {
  const asked: Asked[] = [];
  const script: { answer(asked: Asked): Answered } = { answer: () => ({ status: 500 }) };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    const question = { system: body.messages[0].content, data: JSON.parse(body.messages[1].content), body };
    asked.push(question);
    const { status = 200, content, tokens } = script.answer(question);
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    response.writeHead(status).end(
      JSON.stringify({
        choices: [{ message: { content: text } }],
        ...(tokens && { usage: { total_tokens: tokens } }),
      }),
    );
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const settings: ChatSettings = {
    url,
    model: 'small',
    key: undefined,
    timeoutMs: 2_000,
    allowPrivate: true,
  };
  return { asked, script, settings, close };
}
