import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { ToolVectors } from '../../bandit/tool-vectors.ts';
import { definitionHash } from '../../src/ledger/definition-hash.ts';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import type { MergeableTool } from '../../src/merging/audit-component.ts';
import type { Judge, PairVerdict } from '../../src/merging/judge.ts';
import { type MergePassRequest, proposeMerges } from '../../src/merging/propose-merges.ts';
import { loadKernels } from '../../src/stores/load-kernels.ts';

let kernels: Kernels;
beforeAll(async () => {
  kernels = await loadKernels();
});

const tables: ToolVectors[] = [];
afterAll(() => {
  for (const table of tables) table.free();
});

/** Takes tools for the same whose descriptions begin with the same word, and audits in the same way. */
function firstWordJudge(overrides: Partial<Judge> = {}): Judge & { readonly asked: string[] } {
  const asked: string[] = [];
  const word = ({ description }: { readonly description: string }): string => description.split(' ')[0];
  return {
    name: 'rules',
    asked,
    judgePairs: async (pairs) =>
      pairs.map(([a, b]): PairVerdict => {
        asked.push([a.name, b.name].sort().join('+'));
        const relation = word(a) === word(b) ? 'same' : 'different';
        return { relation, confidence: 0.9, reason: 'They begin alike.' };
      }),
    audit: async () => ({ verdict: 'MERGE_OK', reason: 'All are the same.' }),
    describe: async () => null,
    ...overrides,
  };
}

function tool(name: string, description: string, more: Partial<ToolDefinition> = {}): ToolDefinition {
  return { name, description, inputSchema: { type: 'object', properties: {} }, ...more };
}

function listed(tools: readonly ToolDefinition[]): MergeableTool[] {
  return tools.map((one, slot) => ({ slot, tool: one, hash: definitionHash(one) }));
}

/** Without vectors: words alone say what is compared. */
function requestOf(tools: readonly MergeableTool[], more: Partial<MergePassRequest> = {}): MergePassRequest {
  const tokensOf = (one: ToolDefinition): number => JSON.stringify(one).length;
  return { tools, kernels, vectors: null, threshold: 0.8, judge: firstWordJudge(), tokensOf, ...more };
}

function vectorsOf(rows: readonly (readonly number[])[]): ToolVectors {
  const table = new ToolVectors(kernels, rows[0].length);
  tables.push(table);
  for (const [slot, row] of rows.entries()) {
    const length = Math.hypot(...row);
    table.put(
      slot,
      Float32Array.from(row, (value) => value / length),
    );
  }
  return table;
}

describe('a pass', () => {
  it('proposes tools that do the same under the shortest name, with evidence', async () => {
    const tools = listed([
      tool('weather_by_city', 'forecast of the weather of a city'),
      tool('city_weather', 'forecast of the weather of a city'),
      tool('stock_price', 'price of a stock'),
    ]);
    const { proposals, counts } = await proposeMerges(requestOf(tools));
    expect(proposals).toHaveLength(1);
    const [merge] = proposals;
    expect(merge.members.map(({ name }) => name)).toEqual(['city_weather', 'weather_by_city']);
    expect(merge.representative).toBe('city_weather');
    expect(merge.definition.name).toBe('city_weather');
    expect(merge.confidence).toBe(0.9);
    expect(merge.evidence).toMatchObject({ similarity: null, judge: 'rules', reason: 'All are the same.' });
    expect(merge.evidence.verdicts).toHaveLength(1);
    expect(merge.tokensSaved).toBeGreaterThan(0);
    expect(counts).toMatchObject({ pairs: 1, same: 1, components: 1, audited: 1, split: 0 });
  });

  it('compares tools whose vectors are near though they share no word', async () => {
    const tools = listed([tool('abc', 'x one'), tool('def', 'x two'), tool('ghi', 'x three')]);
    const vectors = vectorsOf([
      [1, 0.1, 0],
      [1, 0, 0.1],
      [0, 1, 1],
    ]);
    const { proposals } = await proposeMerges(requestOf(tools, { vectors }));
    expect(proposals.map(({ members }) => members.map(({ name }) => name))).toEqual([['abc', 'def']]);
    expect(proposals[0].evidence.similarity!.least).toBeCloseTo(1 / 1.01, 5);
  });

  it('compares what was put where a merged tool is served in its place, with findings of before as without', async () => {
    const tools = listed([tool('abc', 'x one'), tool('def', 'x two'), tool('ghi', 'x three')]);
    const rows = [
      [1, 0.1, 0],
      [1, 0, 0.1],
      [0, 1, 1],
    ];
    const [put] = [vectorsOf(rows)];
    const before = await proposeMerges(requestOf(tools, { vectors: put }));
    const own = new Map([[0, put.get(0).slice()]]);
    const served = vectorsOf([[0, 1, 1.1], ...rows.slice(1)]);
    const merged = await proposeMerges(requestOf(tools, { vectors: served, own }));
    expect(merged.counts.pairs).toBe(1);
    expect(merged.proposals).toEqual(before.proposals);
    // What changes later is compared with it as well.
    const more = [...tools, { ...listed([tool('jkl', 'x four')])[0], slot: 3 }];
    served.put(3, put.get(0).slice());
    const later = await proposeMerges(
      requestOf(more, { vectors: served, own, previous: merged.findings, threshold: 0.8 }),
    );
    expect(later.proposals.map(({ members }) => members.map(({ name }) => name))).toEqual([
      ['abc', 'def', 'jkl'],
    ]);
  });

  it('compares what was confused, whatever texts say', async () => {
    const tools = listed([tool('abc', 'x one'), tool('def', 'x two')]);
    const confusable = [{ slots: [0, 1] as const, confused: 7 }];
    const { proposals } = await proposeMerges(requestOf(tools, { confusable }));
    expect(proposals[0].evidence.outcomes).toEqual([{ pair: ['abc', 'def'], confused: 7 }]);
  });

  it('follows the audit, and believes none that contradicts itself', async () => {
    const tools = listed(
      ['a1', 'a2', 'a3', 'a4'].map((name) => tool(name, 'same thing whatever it is called')),
    );
    const auditing = (clusters: number[][]): Judge =>
      firstWordJudge({ audit: async () => ({ verdict: 'MERGE_BAD', clusters, reason: 'A chain.' }) });
    const membersOf = async (clusters: number[][]): Promise<string[][]> => {
      const { proposals } = await proposeMerges(requestOf(tools, { judge: auditing(clusters) }));
      return proposals.map(({ members }) => members.map(({ name }) => name));
    };
    expect(
      await membersOf([
        [0, 1],
        [2, 3],
      ]),
    ).toEqual([
      ['a1', 'a2'],
      ['a3', 'a4'],
    ]);
    expect(await membersOf([[1, 2]])).toEqual([['a2', 'a3']]);
    expect(await membersOf([])).toEqual([]);
    expect(
      await membersOf([
        [0, 1],
        [1, 2],
      ]),
    ).toEqual([]);
    expect(await membersOf([[0, 9]])).toEqual([]);
  });

  it('proposes approved merges whole or not at all', async () => {
    const tools = listed(['a1', 'a2', 'a3'].map((name) => tool(name, 'same thing whatever it is called')));
    const audit: Judge['audit'] = async () => ({ verdict: 'MERGE_BAD', clusters: [[0, 2]], reason: 'No.' });
    const split = await proposeMerges(
      requestOf(tools, { judge: firstWordJudge({ audit }), merged: [['a1', 'a2']] }),
    );
    expect(split.proposals).toEqual([]);
    const whole = await proposeMerges(requestOf(tools, { merged: [['a1', 'a2']] }));
    expect(whole.proposals.map(({ members }) => members.length)).toEqual([3]);
  });

  it('joins what hangs on any member of an approved merge with all of it', async () => {
    const tools = listed(['a1', 'a2', 'a3'].map((name) => tool(name, 'same thing whatever it is called')));
    const judge = firstWordJudge({
      judgePairs: async (pairs) =>
        pairs.map((pair): PairVerdict => {
          const isSame = pair.every(({ name }) => name !== 'a2');
          return { relation: isSame ? 'same' : 'different', confidence: 0.9, reason: 'So.' };
        }),
    });
    const { proposals } = await proposeMerges(requestOf(tools, { judge, merged: [['a1', 'a2']] }));
    expect(proposals.map(({ members }) => members.map(({ name }) => name))).toEqual([['a1', 'a2', 'a3']]);
  });

  it('judges in the next pass what a pass that was stopped found and did not judge', async () => {
    const tools = listed(['a1', 'a2'].map((name) => tool(name, 'same thing whatever it is called')));
    const before = await proposeMerges(requestOf(tools.slice(0, 1)));
    const judge = firstWordJudge({ judgePairs: () => Promise.reject(new Error('enough')) });
    await expect(proposeMerges(requestOf(tools, { previous: before.findings, judge }))).rejects.toThrow(
      'enough',
    );
    const after = await proposeMerges(requestOf(tools, { previous: before.findings }));
    expect(after.proposals).toHaveLength(1);
  });

  it('asks again about what was not decided, and takes nothing undecided for the same', async () => {
    const tools = listed([
      tool('a1', 'same thing whatever it is called'),
      tool('a2', 'same thing whatever it is called'),
    ]);
    let decides = false;
    const decided = firstWordJudge();
    const judge: Judge = {
      ...decided,
      judgePairs: async (pairs) => (decides ? decided.judgePairs(pairs) : pairs.map(() => null)),
    };
    const first = await proposeMerges(requestOf(tools, { judge }));
    expect(first.proposals).toEqual([]);
    expect(first.counts.undecided).toBe(1);
    expect([...first.undecided].sort()).toEqual(['a1', 'a2']);
    decides = true;
    const second = await proposeMerges(requestOf(tools, { judge, previous: first.findings }));
    expect(second.proposals).toHaveLength(1);
    expect(second.undecided.size).toBe(0);
  });

  it('asks again about a component whose audit was not decided, and not about one that came to nothing', async () => {
    const tools = listed(
      ['a1', 'a2', 'b1', 'b2'].map((name) => tool(name, `same thing ${name[0].repeat(3)}`)),
    );
    const audited: string[] = [];
    let decides = false;
    const judge = firstWordJudge({
      judgePairs: async (pairs) =>
        pairs.map(([a, b]): PairVerdict => {
          const relation = a.name[0] === b.name[0] ? 'same' : 'different';
          return { relation, confidence: 0.9, reason: 'They begin alike.' };
        }),
      audit: async ([{ name }]) => {
        audited.push(name);
        if (name === 'b1') return { verdict: 'MERGE_BAD', clusters: [], reason: 'They are not.' };
        return decides
          ? { verdict: 'MERGE_OK', reason: 'All are.' }
          : { verdict: 'UNDECIDED', reason: 'The model is away.' };
      },
    });
    const first = await proposeMerges(requestOf(tools, { judge }));
    expect(first.proposals).toEqual([]);
    expect(first.counts).toMatchObject({ undecided: 0, unaudited: 1, split: 1 });
    expect([...first.undecided].sort()).toEqual(['a1', 'a2']);
    decides = true;
    const second = await proposeMerges(requestOf(tools, { judge, previous: first.findings }));
    expect(second.proposals.map(({ representative }) => representative)).toEqual(['a1']);
    expect(second.undecided.size).toBe(0);
    expect(audited).toEqual(['a1', 'b1', 'a1']);
  });

  it('keeps what a lot of a large component decided, though the judge did not decide about another', async () => {
    const names = Array.from({ length: 150 }, (_, at) => `t${String(at).padStart(3, '0')}`);
    const tools = listed(names.map((name) => tool(name, 'same thing whatever it is called')));
    const judge = firstWordJudge({
      audit: async (some) =>
        some.some(({ name }) => name === 't149')
          ? { verdict: 'UNDECIDED', reason: 'The budget is spent.' }
          : { verdict: 'MERGE_OK', reason: 'All are.' },
    });
    const vectors = vectorsOf(names.map(() => [1, 2, 3]));
    const { proposals, undecided } = await proposeMerges(requestOf(tools, { judge, vectors }));
    expect(proposals.map(({ members }) => members.length)).toEqual([100]);
    expect(proposals[0].evidence.reason).toBe('All are.');
    expect(undecided).toContain('t149');
  });

  it('leaves skills alone', async () => {
    const skill = { kind: 'skill', text: 'Read this.' } as const;
    const tools = listed([
      tool('a1', 'same thing whatever it is called', skill),
      tool('a2', 'same thing whatever it is called', skill),
    ]);
    expect((await proposeMerges(requestOf(tools))).counts.pairs).toBe(0);
  });

  it('stops when it is cancelled, and the next pass does what was left', async () => {
    const tools = listed([
      tool('a1', 'same thing whatever it is called'),
      tool('a2', 'same thing whatever it is called'),
      tool('b1', 'other story whoever tells it'),
    ]);
    const before = await proposeMerges(requestOf(tools.slice(0, 2)));
    const abort = new AbortController();
    const judge = firstWordJudge();
    const onProgress = (): void => abort.abort(new Error('enough'));
    const more = [
      ...tools,
      ...listed([tool('b2', 'other story whoever tells it')]).map((one) => ({ ...one, slot: 3 })),
    ];
    await expect(
      proposeMerges(requestOf(more, { previous: before.findings, judge, signal: abort.signal, onProgress })),
    ).rejects.toThrow('enough');
    const after = await proposeMerges(requestOf(more, { previous: before.findings }));
    expect(after.proposals.map(({ representative }) => representative)).toEqual(['a1', 'b1']);
  });
});

describe('a thousand identical tools', () => {
  it('are one merge, and nothing is lost', async () => {
    const names = Array.from({ length: 1_000 }, (_, at) => `tool_${String(at).padStart(4, '0')}`);
    const tools = listed(names.map((name) => tool(name, 'same thing whatever it is called')));
    const vectors = vectorsOf(names.map(() => [1, 2, 3]));
    const { proposals } = await proposeMerges(requestOf(tools, { vectors }));
    expect(proposals).toHaveLength(1);
    expect(proposals[0].members.map(({ name }) => name)).toEqual(names);
    expect(Object.keys(proposals[0].mappings)).toHaveLength(1_000);
  });
});

describe('what a judge leaves open', () => {
  it('is counted, and told in the evidence of merges with these tools until it is decided', async () => {
    const text = 'forecast of the weather of a city';
    const tools = listed([tool('a', text), tool('b', text), tool('c', text)]);
    const open = new Set(['a+c']);
    const sure = firstWordJudge();
    const judge = firstWordJudge({
      judgePairs: async (pairs, signal) => {
        const verdicts = await sure.judgePairs(pairs, signal);
        return pairs.map(([x, y], at) => (open.has([x.name, y.name].sort().join('+')) ? null : verdicts[at]));
      },
    });
    const first = await proposeMerges(requestOf(tools, { judge }));
    expect(first.counts).toMatchObject({ undecided: 1, same: 2 });
    expect(first.proposals[0].evidence.notes).toEqual(['The judge did not decide about a and c.']);
    open.clear();
    const next = await proposeMerges(requestOf(tools, { judge, previous: first.findings }));
    expect(next.counts).toMatchObject({ undecided: 0, same: 1 });
    expect(next.proposals[0].evidence).not.toHaveProperty('notes');
  });
});

describe('properties', () => {
  const WORDS = ['weather', 'forecast', 'price', 'stock', 'mail', 'send', 'list', 'file'];
  const definitions = fc.array(
    fc.record({
      word: fc.constantFrom('x', 'y', 'z'),
      rest: fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 3 }),
    }),
    { minLength: 2, maxLength: 24 },
  );
  const built = (
    all: readonly { readonly word: string; readonly rest: readonly string[] }[],
  ): MergeableTool[] => listed(all.map(({ word, rest }, at) => tool(`t${at}`, `${word} ${rest.join(' ')}`)));

  it('no tool is in two merges, each merge has at least two, one of them its representative', async () => {
    await fc.assert(
      fc.asyncProperty(definitions, async (all) => {
        const { proposals } = await proposeMerges(requestOf(built(all)));
        const names = proposals.flatMap(({ members }) => members.map(({ name }) => name));
        expect(new Set(names).size).toBe(names.length);
        for (const { members, representative, mappings } of proposals) {
          expect(members.length).toBeGreaterThan(1);
          expect(members.map(({ name }) => name)).toContain(representative);
          expect(Object.keys(mappings).sort()).toEqual(members.map(({ name }) => name).sort());
        }
      }),
      { seed: 1, numRuns: 60 },
    );
  });

  it('a pass over what changed comes to what a whole pass comes to, and asks no pair twice', async () => {
    await fc.assert(
      fc.asyncProperty(definitions, definitions, async (before, after) => {
        const first = await proposeMerges(requestOf(built(before)));
        const judge = firstWordJudge();
        const changed = await proposeMerges(requestOf(built(after), { previous: first.findings, judge }));
        const whole = await proposeMerges(requestOf(built(after)));
        expect(changed.proposals.map(({ id }) => id)).toEqual(whole.proposals.map(({ id }) => id));
        const kept = built(before).flatMap(({ slot, hash }) =>
          built(after)[slot]?.hash === hash ? [`t${slot}`] : [],
        );
        for (const pair of judge.asked)
          expect(pair.split('+').every((name) => kept.includes(name))).toBe(false);
      }),
      { seed: 2, numRuns: 60 },
    );
  });
});
