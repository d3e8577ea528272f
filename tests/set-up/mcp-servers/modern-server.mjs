// An MCP server of 2026-07-28 made with the official SDK, over stdio or, with a port as its argument, streamable HTTP.
import { createServer } from 'node:http';
import { acceptedContent, createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const text = (words) => ({ content: [{ type: 'text', text: String(words) }] });
let extra = false;
let aborted = 0;

function factory() {
  const server = new McpServer(
    { name: 'modern', version: '2' },
    { capabilities: { tools: { listChanged: true } } },
  );
  const inputSchema = z.object({ text: z.string() });
  server.registerTool(
    'echo',
    { title: 'Echo', description: 'Says it again', inputSchema },
    ({ text: words }) => text(words),
  );
  server.registerTool(
    'deploy',
    { description: 'Deploys after a question', inputSchema: z.object({}) },
    (_, ctx) => {
      const answer = acceptedContent(ctx.mcpReq.inputResponses, 'sure');
      if (answer !== undefined) return text(`deployed: ${answer.city}`);
      if (ctx.mcpReq.inputResponses?.sure !== undefined) return text(ctx.mcpReq.inputResponses.sure.action);
      const requestedSchema = { type: 'object', properties: { city: { type: 'string' } } };
      return inputRequired({
        inputRequests: { sure: inputRequired.elicit({ message: 'Where?', requestedSchema }) },
        requestState: 'step-1',
      });
    },
  );
  server.registerTool('grow', { description: 'Adds a tool', inputSchema: z.object({}) }, () => {
    if (!extra) addTool();
    extra = true;
    handler?.notify?.toolsChanged?.();
    return text('grown');
  });
  server.registerTool('sleep', { description: 'Never ends', inputSchema: z.object({}) }, (_, ctx) => {
    const { progressToken } = ctx.mcpReq._meta ?? {};
    const params = { progressToken, progress: 1 };
    if (progressToken !== undefined) ctx.mcpReq.notify({ method: 'notifications/progress', params });
    return new Promise((resolve) =>
      ctx.mcpReq.signal.addEventListener('abort', () => {
        aborted++;
        resolve(text('aborted'));
      }),
    );
  });
  server.registerTool('aborted', { description: 'Counts', inputSchema: z.object({}) }, () => text(aborted));
  const addTool = () =>
    server.registerTool('new', { description: 'Came later', inputSchema: z.object({}) }, () => text('new'));
  if (extra) addTool();
  return server;
}

let handler;
if (process.argv[2] === undefined) {
  serveStdio(factory, { legacy: 'reject' });
} else {
  handler = createMcpHandler(factory, { legacy: 'reject' });
  const server = createServer(async (request, response) => {
    const body = [];
    for await (const chunk of request) body.push(chunk);
    const closed = new AbortController();
    response.on('close', () => closed.abort());
    const answer = await handler.fetch(
      new Request(`http://127.0.0.1${request.url}`, {
        method: request.method,
        headers: Object.entries(request.headers),
        signal: closed.signal,
        ...(body.length > 0 ? { body: Buffer.concat(body) } : {}),
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body !== null) {
      try {
        for await (const chunk of answer.body) response.write(chunk);
      } catch {
        response.destroy();
      }
    }
    response.end();
  });
  server.listen(Number(process.argv[2]), '127.0.0.1', () => {
    process.stdout.write(`${server.address().port}\n`);
  });
}
