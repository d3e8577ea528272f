// A calendar over stdio, made with the official SDK. Its argument is JSON: {name, words}: `words` are its own names of tools and
// parameters, where they are not those of the others. Events are kept in memory, so each calendar has its own.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const { name, words = {} } = JSON.parse(process.argv[2]);
const own = (word) => words[word] ?? word;
const text = (said) => ({ content: [{ type: 'text', text: said }], _meta: { calendar: name } });
const events = [];

serveStdio(() => {
  const server = new McpServer({ name, version: '1' });
  server.registerTool(
    own('create_event'),
    {
      description: 'Creates an event in the calendar, with a title and the time when it starts',
      inputSchema: z.object({
        [own('title')]: z.string().describe('Title of the event'),
        [own('start')]: z.string().describe('When the event starts, as an ISO 8601 time'),
      }),
    },
    (given) => {
      events.push(`${given[own('title')]} at ${given[own('start')]}`);
      return text(`${name}: ${events.at(-1)}`);
    },
  );
  server.registerTool(
    own('list_events'),
    {
      description: 'Lists the events in the calendar',
      inputSchema: z.object({}),
      annotations: { readOnlyHint: true },
    },
    () => text(`${name}: ${events.join(', ')}`),
  );
  server.registerTool(
    own('crash'),
    { description: 'Ends the server', inputSchema: z.object({}), annotations: { readOnlyHint: true } },
    () => process.exit(1),
  );
  return server;
});
