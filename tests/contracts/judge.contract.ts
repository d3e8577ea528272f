import { describe, expect, it } from 'vitest';
import { definitionHash } from '../../src/ledger/definition-hash.ts';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import type { Judge, JudgedTool } from '../../src/merging/judge.ts';

export function judgedTool(
  name: string,
  description: string,
  more: Partial<ToolDefinition> = {},
): JudgedTool {
  const definition = { name, description, inputSchema: { type: 'object' }, ...more };
  return { ...definition, hash: definitionHash(definition) };
}

/** What every judge does, whatever it judges by. */
export function judgeContract(name: string, create: () => Judge): void {
  describe(`${name}, as a judge`, () => {
    const create_ = judgedTool('create_event', 'Create an event in the calendar.');
    const delete_ = judgedTool('delete_event', 'Delete an event from the calendar.');
    const copy = judgedTool('create_event', 'Create an event in the calendar.', { server: 'team-b' });

    it('answers once per pair, in order, and never takes opposite actions for the same', async () => {
      const pairs = [
        [create_, delete_],
        [create_, copy],
        [delete_, create_],
      ] as const;
      const verdicts = await create().judgePairs(pairs);
      expect(verdicts).toHaveLength(3);
      for (const at of [0, 2]) expect(verdicts[at]?.relation).not.toBe('same');
      for (const verdict of verdicts) {
        if (verdict === null) continue;
        expect(verdict.confidence).toBeGreaterThanOrEqual(0);
        expect(verdict.confidence).toBeLessThanOrEqual(1);
      }
      expect(await create().judgePairs([])).toEqual([]);
    });

    it('audits into clusters that share no tool, and keeps opposite actions apart', async () => {
      const tools = [create_, delete_, copy];
      const audit = await create().audit(tools);
      const clusters =
        audit.verdict === 'MERGE_BAD' ? audit.clusters : audit.verdict === 'MERGE_OK' ? [[0, 1, 2]] : [];
      const all = clusters.flat();
      expect(new Set(all).size).toBe(all.length);
      expect(clusters.every(({ length }) => length > 1)).toBe(true);
      expect(clusters.some((cluster) => cluster.includes(0) && cluster.includes(1))).toBe(false);
    });

    it('describes with text, or not at all', async () => {
      const described = await create().describe([create_, copy], 0);
      if (described !== null) expect(described.description.trim()).not.toBe('');
    });

    it('stops with the reason of the signal', async () => {
      const signal = AbortSignal.abort(new Error('enough'));
      await expect(create().judgePairs([[create_, copy]], signal)).rejects.toThrow('enough');
      await expect(create().audit([create_, copy], signal)).rejects.toThrow('enough');
    });
  });
}
