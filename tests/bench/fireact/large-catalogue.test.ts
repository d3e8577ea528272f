import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LargeCatalogue, rightTools } from '../../../bench/fireact/large-catalogue.ts';

const TARGETS = 'xlam-toolret';
const SETS = [
  TARGETS,
  'seal-tools',
  'mcp-zero',
  'ultratool',
  'toollinkos',
  'api-bank',
  'restbench',
  'toolalpaca',
  'bfcl-simple',
  'bfcl-multiturn',
];
/** Each query needs two tools of its own; the first one of each has an equal. */
const QUERIES = 60;
const folder = mkdtempSync(join(tmpdir(), 'bandolier-catalogue-'));
let catalogue: LargeCatalogue;

beforeAll(async () => {
  const lines = (items: readonly unknown[]): string =>
    items.map((item) => `${JSON.stringify(item)}\n`).join('');
  const tools = Array.from({ length: 3 * QUERIES }, (_, at) => ({ id: `t${at}`, name: `tool ${at}` }));
  for (const set of SETS) {
    mkdirSync(join(folder, set));
    writeFileSync(join(folder, set, 'tools.jsonl'), lines(tools));
  }
  const queries = Array.from({ length: QUERIES }, (_, at) => ({
    query: `query ${at}`,
    relevant: [`t${3 * at}`, `t${3 * at + 1}`, `t${3 * at}`],
    alternatives: { [`t${3 * at}`]: [`t${3 * at + 2}`] },
  }));
  writeFileSync(join(folder, TARGETS, 'queries.test.jsonl'), lines(queries));
  catalogue = (await LargeCatalogue.read(folder))!;
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('the large catalogue', () => {
  it('is not there without its data', async () => {
    expect(await LargeCatalogue.read(join(folder, 'nowhere'))).toBeNull();
  });

  it('holds every set, with ids that tell them apart', () => {
    expect(new Set(catalogue.tools.map(({ id }) => id)).size).toBe(SETS.length * 3 * QUERIES);
    expect(catalogue.queries[2].relevant).toEqual([`${TARGETS}/t6`, `${TARGETS}/t7`]);
    expect([...rightTools(catalogue.queries[2])].sort()).toEqual(
      ['t6', 't7', 't8'].map((id) => `${TARGETS}/${id}`),
    );
  });

  it('groups queries so that a small catalog holds all their tools, and larger ones hold the smaller', () => {
    const groups = catalogue.groups(2);
    expect(groups).toHaveLength(2);
    for (const group of groups) {
      const [small, larger] = [100, 1000].map((size) => catalogue.catalogOf(size, group).map(({ id }) => id));
      expect(small).toHaveLength(100);
      expect(larger).toHaveLength(1000);
      expect(larger.slice(0, 100)).toEqual(small);
      for (const query of group) expect(small).toEqual(expect.arrayContaining([...rightTools(query)]));
    }
    expect(new Set(groups.flat()).size).toBe(groups[0].length + groups[1].length);
  });

  it('is the same in every run', async () => {
    const again = (await LargeCatalogue.read(folder))!;
    expect(again.tools).toEqual(catalogue.tools);
    expect(again.groups(2)).toEqual(catalogue.groups(2));
  });
});
