import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { readTranscript, transcriptFiles } from '../../src/transcripts/read-transcripts.ts';
import { temporaryFolder } from '../e2e/running-service.ts';

const FIXTURES = fileURLToPath(new URL('./fixtures', import.meta.url));
const folder = temporaryFolder();
afterAll(() => folder.remove());

const read = async (name: string) => {
  const { turns, ...rest } = await readTranscript(join(FIXTURES, name));
  return {
    ...rest,
    turns: turns.map(({ query, calls }) => [query, calls.map(({ tool, outcome }) => `${tool} ${outcome}`)]),
  };
};
const written = async (name: string, text: string) => {
  const file = join(folder.path, name);
  writeFileSync(file, text);
  return readTranscript(file);
};

describe('transcripts', () => {
  it('of Claude Code: what was asked, what was called, and what users put there themselves', async () => {
    const { turns, ...rest } = await read('claude/session.jsonl');
    expect(rest).toMatchObject({ dialect: 'claude-code', lines: 23, broken: 1, tooLong: 0 });
    expect(turns).toEqual([
      [
        'The customer of order 8812 wants the money back. Our key is  .',
        ['create_refund failure', 'mcp__shop__create_refund success'],
      ],
      [expect.stringMatching(/track the parcel/), ['mcp__shop__track_parcel refused', 'Bash success']],
      ['List the open tickets of this customer', ['mcp__desk__list_tickets timeout']],
    ]);
  });

  it('of Claude Code: the skill that was called, and not the tool that reads it', async () => {
    const lines = [{ command: 'deploy' }, { skill: '/release notes' }, {}].flatMap((input, i) => [
      { type: 'assistant', message: { content: [{ type: 'tool_use', id: `t${i}`, name: 'Skill', input }] } },
      {
        type: 'user',
        message: { content: [{ type: 'tool_result', tool_use_id: `t${i}`, content: 'done' }] },
      },
    ]);
    const asked = { type: 'user', message: { content: 'Bring the shop to production' } };
    const text = [asked, ...lines].map((line) => JSON.stringify({ sessionId: 's', ...line })).join('\n');
    const transcript = await written('skills.jsonl', text);
    expect(transcript.turns[0].calls.map(({ tool }) => tool)).toEqual(['deploy', 'release notes', 'Skill']);
  });

  it('of Codex: what MCP servers answered counts more than the text of an output', async () => {
    const { turns, dialect } = await read('codex/rollout-2026-11-21T10-00-00-0199.jsonl');
    expect(dialect).toBe('codex');
    expect(turns).toEqual([
      ['Where is parcel P-77?', ['mcp__shop__track_parcel failure', 'exec_command failure']],
      ['Send the newsletter to everybody who bought a lamp', ['mcp__mail__send_newsletter success']],
    ]);
  });

  it('of OpenTelemetry: spans in any order, of OTLP and alone', async () => {
    const { turns, dialect } = await read('otel/traces.jsonl');
    expect(dialect).toBe('opentelemetry');
    expect(turns).toEqual([
      ['Close ticket 12, it is done', ['close_ticket success', 'send_mail timeout']],
      ['Open the gate of yard 3', ['open_gate failure']],
    ]);
  });

  it('of our own shape, and files of something else', async () => {
    expect((await read('ours.jsonl')).turns).toEqual([
      ['give me my money back', ['create_refund success', 'track_parcel failure']],
      ['password:   for the export', ['export_report success']],
    ]);
    expect(await read('notes.jsonl')).toMatchObject({ dialect: null, turns: [], lines: 2 });
  });

  it('have turns with the same ids wherever they lie, also when they have grown', async () => {
    const lines = ['a', 'b'].map((n, at) =>
      [
        {
          type: 'user',
          uuid: `u${at}`,
          sessionId: 's',
          message: { role: 'user', content: `Please refund order ${n}` },
        },
        { type: 'assistant', message: { content: [{ type: 'tool_use', id: n, name: 'create_refund' }] } },
        { type: 'user', message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: n }] } },
      ]
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(''),
    );
    const short = await written('one.jsonl', lines[0]);
    const grown = await written('two.jsonl', lines.join(''));
    expect(grown.turns.map(({ id }) => id)[0]).toBe(short.turns[0].id);
    expect(new Set(grown.turns.map(({ id }) => id)).size).toBe(2);
  });

  it('with lines of megabytes are read without holding them', async () => {
    const image = `{"type":"user","message":{"content":"${'x'.repeat(9 * 1024 * 1024)}"}}`;
    const own = '{"query":"refund","calls":[{"tool":"create_refund"}]}';
    const found = await written('long.jsonl', `\n${image}\n${own}\r\n\n${own.slice(0, 20)}`);
    expect(found).toMatchObject({ lines: 3, tooLong: 1, broken: 1 });
    expect(found.turns).toHaveLength(1);
  });

  it('are found in folders, and links are not followed', async () => {
    const inner = join(folder.path, 'deep', 'er');
    mkdirSync(inner, { recursive: true });
    writeFileSync(join(inner, 'a.jsonl'), '');
    writeFileSync(join(inner, 'b.txt'), '');
    symlinkSync(folder.path, join(inner, 'loop'));
    symlinkSync(join(FIXTURES, 'ours.jsonl'), join(inner, 'link.jsonl'));
    expect(await transcriptFiles(join(folder.path, 'deep'))).toEqual([join(inner, 'a.jsonl')]);
    expect(await transcriptFiles(join(inner, 'b.txt'))).toEqual([join(inner, 'b.txt')]);
    await expect(transcriptFiles(join(folder.path, 'nothing'))).rejects.toThrow(/ENOENT/);
  });
});
