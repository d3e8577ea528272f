import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ModelRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string | null }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/** What the model does in one step: it says something, and calls tools with arguments. */
export interface Reaction {
  readonly says: string;
  readonly calls?: Calls | ((offered: readonly string[]) => Calls);
}
type Calls = readonly (readonly [tool: string, input: unknown])[];

/** An OpenAI-compatible endpoint that follows a script: one reaction per step of a conversation. */
export class ScriptedModel {
  readonly requests: ModelRequest[] = [];
  readonly keys: (string | undefined)[] = [];
  readonly #server: Server;
  #script: readonly Reaction[] = [];
  #calls = 0;

  private constructor() {
    this.#server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as ModelRequest;
      this.requests.push(body);
      this.keys.push(request.headers.authorization);
      const step = body.messages.filter(({ role }) => role === 'assistant').length;
      const reaction = this.#script[Math.min(step, this.#script.length - 1)];
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ choices: [{ message: this.#messageOf(reaction, toolsOf(body)) }] }));
    });
  }

  static async start(): Promise<ScriptedModel> {
    const model = new ScriptedModel();
    await new Promise<void>((resolve) => void model.#server.listen(0, '127.0.0.1', resolve));
    return model;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** From now on; after the last reaction it repeats itself. */
  follow(...script: Reaction[]): void {
    this.#script = script;
    this.requests.splice(0);
    this.keys.splice(0);
  }

  /** The tools that each request offered. */
  offered(): string[][] {
    return this.requests.map(toolsOf);
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #messageOf({ says, calls: wanted = [] }: Reaction, offered: readonly string[]): object {
    const calls = typeof wanted === 'function' ? wanted(offered) : wanted;
    if (calls.length === 0) return { role: 'assistant', content: says };
    const tool_calls = calls.map(([name, input]) => ({
      id: `call_${++this.#calls}`,
      type: 'function',
      function: { name, arguments: typeof input === 'string' ? input : JSON.stringify(input) },
    }));
    return { role: 'assistant', content: says, tool_calls };
  }
}

function toolsOf({ tools = [] }: ModelRequest): string[] {
  return tools.map((tool) => tool.function.name);
}
