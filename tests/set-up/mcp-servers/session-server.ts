import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

/** A server of 2025-11-25 with sessions over HTTP, made with the library of that era, on a loopback address. */
export interface SessionServer {
  readonly url: string;
  /** Ids of the sessions that were opened, in their order. */
  readonly opened: readonly string[];
  /** Ids of the sessions that clients ended with DELETE. */
  readonly ended: readonly string[];
  /** What clients called themselves when they opened a session. */
  readonly clients: readonly string[];
  /** Texts that `echo` was called with. */
  readonly echoed: readonly string[];
  /** Times that somebody asked how a task was getting on. */
  readonly looks: () => number;
  /** Forgets every session, as a server does that is started again. Tasks go on. */
  forget(): void;
  /** Ends the tasks that go on, and those that are begun from now on. */
  finishTasks(): void;
  close(): Promise<void>;
}

/** Keeps tasks apart from sessions, as a server does that survives the loss of them. */
class Tasks extends InMemoryTaskStore {
  looks = 0;

  override createTask(...[params, requestId, request]: Parameters<InMemoryTaskStore['createTask']>) {
    return super.createTask({ ...params, pollInterval: 1 }, requestId, request);
  }

  override getTask(taskId: string) {
    this.looks++;
    return super.getTask(taskId);
  }
}

export async function startSessionServer(): Promise<SessionServer> {
  const [opened, ended, echoed, clients]: string[][] = [[], [], [], []];
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const tasks = new Tasks();
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });

  const serverOfSession = (): McpServer => {
    const server = new McpServer(
      { name: 'sessions', version: '1' },
      {
        capabilities: { tasks: { requests: { tools: { call: {} } }, cancel: {} } },
        taskStore: tasks,
        taskMessageQueue: new InMemoryTaskMessageQueue(),
      },
    );
    server.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text }) => {
      echoed.push(text);
      return { content: [{ type: 'text', text }] };
    });
    server.experimental.tasks.registerToolTask(
      'brew',
      { execution: { taskSupport: 'required' } },
      {
        createTask: async ({ taskStore }) => {
          const task = await taskStore.createTask({ ttl: null });
          const content = [{ type: 'text' as const, text: 'brewed' }];
          void finished.then(() => tasks.storeTaskResult(task.taskId, 'completed', { content }));
          return { task };
        },
        getTask: ({ taskId, taskStore }) => taskStore.getTask(taskId),
        getTaskResult: async ({ taskId, taskStore }) => (await taskStore.getTaskResult(taskId)) as never,
      },
    );
    return server;
  };

  const http = createServer(async (request, response) => {
    const id = request.headers['mcp-session-id'];
    const known = transports.get(String(id));
    if (id !== undefined && known === undefined) return void response.writeHead(404).end();
    if (known !== undefined) return known.handleRequest(request, response);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => {
        opened.push(session);
        transports.set(session, transport);
      },
      onsessionclosed: (session) => {
        ended.push(session);
        transports.delete(session);
      },
    });
    const { server } = serverOfSession();
    server.oninitialized = () => {
      const { name, version } = server.getClientVersion() ?? {};
      clients.push(`${name} ${version}`);
    };
    await server.connect(transport as never);
    await transport.handleRequest(request, response);
  });
  await once(http.listen(0, '127.0.0.1'), 'listening');
  return {
    ...{ opened, ended, clients, echoed },
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    looks: () => tasks.looks,
    forget: () => transports.clear(),
    finishTasks: () => finish(),
    close: async () => {
      http.closeAllConnections();
      await once(http.close(), 'close');
    },
  };
}
