import { expect, it } from 'vitest';
import { Admission } from '../../src/http/admission.ts';
import { appWith } from './fake-nouns.ts';

const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'find_tools' } };

it.each([
  ['POST', CALL],
  ['GET', undefined],
])(
  'the answer to a %s that was in progress when the process began to shut down ends its connection',
  async (method, body) => {
    const admission = new Admission();
    let isLast = false;
    const answer = async () => {
      if (isLast) admission.drain();
      return Response.json({ jsonrpc: '2.0', id: 1, result: {} });
    };
    const { json } = appWith({ mcp: { fetch: answer } }, admission);
    expect((await json(method, '/mcp', body)).headers.get('connection')).toBeNull();
    isLast = true;
    const last = await json(method, '/mcp', body);
    expect([last.status, last.headers.get('connection')]).toEqual([200, 'close']);
  },
);
