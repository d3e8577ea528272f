import { describe, expect, it } from 'vitest';
import { bufferedDecision, DecisionBuffer } from '../../src/decisions/decision-buffer.ts';
import { taskIdKey, taskKey } from '../../src/ledger/unit.ts';
import { sampleDecision } from './arbitrary-decision.ts';

describe('decisions that Redis may not have', () => {
  it('are kept for ten seconds after they were written', () => {
    const clock = { time: 0 };
    const buffer = new DecisionBuffer(
      async () => {},
      () => clock.time,
    );
    buffer.written(bufferedDecision(sampleDecision('shop.a', 0, 2)));
    clock.time = 10_000;
    buffer.forgetOld();
    expect(buffer.recent('shop.a')?.id).toBe('shop.a');
    clock.time++;
    buffer.forgetOld();
    expect(buffer.hasRecent).toBe(false);
  });

  it('are found while they wait: by their thread, their task, and the id of the task alone', async () => {
    const away = async () => {
      throw new Error('Redis is away');
    };
    const buffer = new DecisionBuffer(away, () => 0);
    const task = taskKey({ task: 'move house', owner: 'ada' });
    const thread = '0123456789abcdef';
    buffer.add(bufferedDecision({ ...sampleDecision('shop.a', 0, 2), task, thread }));
    for (const key of [task, taskIdKey(task), thread]) {
      expect(buffer.ofTask(key).map(({ id }) => id)).toEqual(['shop.a']);
    }
    expect(buffer.ofTask(taskKey({ task: 'move house', owner: 'bob' }))).toEqual([]);
    buffer.drop();
    await buffer.close();
  });
});
