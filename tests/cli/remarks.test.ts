import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, it, vi } from 'vitest';
import { importPromptCommand } from '../../src/cli/import-prompt.ts';
import { statsCommand } from '../../src/cli/stats.ts';

/** Runs a command against a service that answers each of its requests with this. */
async function printed(command: Command, answer: object, ...words: string[]): Promise<string> {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  let text = '';
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    text += chunk;
    return true;
  });
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await command.parseAsync([...words, '--url', url], { from: 'user' });
  } finally {
    write.mockRestore();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  return text;
}

it('`stats --sufficiency` says how many callers are refused by themselves', async () => {
  const breaker = { open: false, closesAt: null, decisions: 12, discoveries: 40, callers: 3 };
  const report = {
    ...{ reliability: [], calibrationError: null, outcomes: 0, breaker },
    discoveries: { decisions: 12, times: 40, tools: 80 },
  };
  const ask = (callers: number) =>
    printed(statsCommand(), { ...report, breaker: { ...breaker, callers } }, '--sufficiency');
  expect(await ask(3)).toContain('Discoveries of 3 callers are refused, who ask in a loop.\n');
  expect(await ask(1)).toContain('Discoveries of 1 caller are refused, who asks in a loop.\n');
  expect(await ask(0)).not.toContain('refused');
});

it('`import-prompt` says where not all texts were compared', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bandolier-remarks-'));
  const file = join(folder, 'system.md');
  writeFileSync(file, 'Answer briefly.\n');
  const stored = { instructions: [], nextCursor: null, revision: 'i1' };
  const changes = { added: 1, awaiting: 0, duplicates: [], duplicatesComplete: false };
  try {
    const all = { ...stored, ...changes };
    expect(await printed(importPromptCommand(), all, file)).toContain('There may be more that are alike');
    const complete = { ...all, duplicatesComplete: true };
    expect(await printed(importPromptCommand(), complete, file)).not.toContain('alike');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
