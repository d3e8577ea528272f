import { describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { OutcomeUnknownError, StoreUnavailableError } from '../../src/errors/store-errors.ts';
import { RefusedReports } from '../../src/rewards/refused-reports.ts';
import { START, Story } from '../state/entries.ts';

/** Catalogs that fold what is submitted; `fail` says what happens to the next entry. */
function open(...names: string[]) {
  const fail: ((apply: () => void) => void)[] = [];
  const stories = new Map(names.map((name) => [name, new Story()]));
  const find = (name: string) => {
    const story = stories.get(name);
    if (story === undefined) return undefined;
    const submit = async (entry: Parameters<Story['tell']>[0]) => {
      const apply = () => void story.tell(entry);
      (fail.shift() ?? ((tell) => tell()))(apply);
    };
    return { name, now: () => START, replica: { submit } } as unknown as Catalog;
  };
  const refused = new RefusedReports({ find, names: () => names });
  const counted = (name: string) =>
    stories
      .get(name)
      ?.state.rewards.lastDay(START)
      .reduce((sum, hour) => sum + (hour.refused['decision-not-found'] ?? 0), 0);
  return { refused, fail, counted };
}

describe('reports that are answered with a problem', () => {
  it('are counted once when it is not known whether they were, and again when they were not', async () => {
    const { refused, fail, counted } = open('default');
    fail.push((apply) => {
      apply();
      throw new OutcomeUnknownError('Redis did not answer.');
    });
    refused.count('default.a', 'decision-not-found');
    await refused.flush();
    await refused.flush();
    expect(counted('default')).toBe(1);
    fail.push(() => {
      throw new StoreUnavailableError('away');
    });
    refused.count('default.b', 'decision-not-found');
    await refused.flush();
    await refused.flush();
    expect(counted('default')).toBe(2);
  });

  it('leave nothing behind of one flush for the next', async () => {
    const { refused } = open('default');
    refused.count('default.a', 'decision-not-found');
    await refused.flush();
    expect(await refused.flush()).toBeUndefined();
  });

  it.each([
    ['their catalog', ['a', 'b', 'default'], 'b.1', 'b'],
    ['`default` where they name none', ['a', 'default'], 'c.1', 'default'],
    ['the first one where a shard has no `default`', ['a', 'b'], 'c.1', 'a'],
  ])('are counted for %s', async (_, names, id, counts) => {
    const { refused, counted } = open(...names);
    refused.count(id, 'decision-not-found');
    await refused.flush();
    expect(counted(counts)).toBe(1);
  });
});
