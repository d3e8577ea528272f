import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../config/package-root.ts';

const folder = mkdtempSync(join(tmpdir(), 'bandolier-simulate-'));
afterAll(() => rmSync(folder, { recursive: true }));

const sample = join(packageRoot(), 'examples', 'sample-catalog');
const tools = join(sample, 'tools.json');

function simulate(...words: string[]): { status: number | null; stdout: string; stderr: string } {
  const program = join(packageRoot(), 'dist', 'bundle', 'main.js');
  return spawnSync(process.execPath, [program, 'simulate', '--tools', tools, ...words], { encoding: 'utf8' });
}

function fileOf(name: string, lines: readonly unknown[]): string {
  const file = join(folder, name);
  writeFileSync(
    file,
    lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
  );
  return file;
}

describe('bandolier simulate', () => {
  it('prints a curve per policy, the same for the same seeds, and writes the figures down', () => {
    const lines = readFileSync(join(sample, 'queries.learn.jsonl'), 'utf8').trim().split('\n').slice(0, 60);
    const queries = fileOf('some.jsonl', [...lines, { query: 'who knows', relevant: ['no_such_tool'] }]);
    const json = join(folder, 'figures.json');
    const words = ['--queries', queries, '--model', 'none', '--seeds', '2', '--policy', 'sc-linucb-memory'];
    const { status, stdout } = simulate(...words, '--policy', 'hybrid', '--json', json);
    expect(status).toBe(0);
    expect(stdout).toMatch(/150 tools; 4\d queries to learn from, 1\d held out/);
    expect(stdout).toContain('Left out, because no tool has these names: no_such_tool.');
    const [memory, hybrid] = JSON.parse(readFileSync(json, 'utf8'));
    // Day 0 is the retrieval order, and the retrieval order never changes.
    expect(memory.runs[0][0].recall).toEqual(hybrid.runs[0][0].recall);
    expect(
      new Set(hybrid.runs.flat().map(({ recall }: { recall: object }) => JSON.stringify(recall))).size,
    ).toBe(1);
    expect(simulate(...words, '--policy', 'hybrid').stdout).toBe(stdout);
  });

  it.each([
    [['--queries', fileOf('bad.jsonl', ['{"query": 1}'])], /line 1: expected \{"query"/],
    [['--queries', fileOf('empty.jsonl', [''])], /holds no queries/],
    [
      [
        '--queries',
        fileOf('ids.jsonl', Array(9).fill({ query: 'x', relevant: ['id-7'] })),
        '--model',
        'none',
      ],
      /No query of .*`relevant` names "id-7", and no tool has such a name\. Tools are called ".*use their names/,
    ],
    [
      ['--queries', fileOf('one.jsonl', [{ query: 'x', relevant: ['create_refund'] }]), '--model', 'none'],
      /holds too few queries/,
    ],
    [['--queries', join(folder, 'missing.jsonl')], /cannot be read/],
    [
      ['--queries', fileOf('ok.jsonl', [{ query: 'x', relevant: ['y'] }]), '--policy', 'nope'],
      /no policy “nope”/,
    ],
    [['--queries', fileOf('ok.jsonl', [{ query: 'x', relevant: ['y'] }]), '--noise', '2'], /from 0 to 1/],
  ])('says what is wrong with %j', (words, sentence) => {
    const { status, stderr } = simulate(...words);
    expect(status).not.toBe(0);
    expect(stderr).toMatch(sentence);
  });
});
