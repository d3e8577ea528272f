import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { ExposureRecorder } from '../../src/experiments/exposure-recorder.ts';
import type { PolicySettings } from '../../src/ledger/catalog-settings.ts';
import { ShadowRanking } from '../../src/routing/shadow-ranking.ts';
import { answer, create, move, OTHER_POLICY, variant } from '../state/experiment-entries.ts';
import { RoutedCatalog } from './routed-catalog.ts';

it('a shadow variant that fails is reported, and the next one ranks', async () => {
  const catalog = new RoutedCatalog();
  const shadow = (name: string, exploration: PolicySettings['exploration']) =>
    variant(name, 0, { mode: 'shadow', policy: { ...OTHER_POLICY, exploration } });
  const variants = [variant('old', 10_000), shadow('first', 'greedy'), shadow('second', 'plackett-luce')];
  expect(answer(catalog.story, create({ variants })).sentence).toBe('');
  expect(move(catalog.story, { action: 'start' }).reason).toBeNull();

  const compared: string[] = [];
  const recorder = {
    compare: (_, { variant: name }) => {
      compared.push(name);
      if (name === 'first') throw new Error('ran out of memory');
    },
  } as Pick<ExposureRecorder, 'compare'> as ExposureRecorder;
  const errors: unknown[][] = [];
  const shadows = new ShadowRanking(recorder, (...error) => errors.push(error));
  Object.assign(catalog.parts, { shadows });
  await catalog.ask();
  for (let turns = 0; turns < 5; turns++) await turn();
  expect(compared).toEqual(['first', 'second']);
  expect(errors).toEqual([['a shadow variant could not rank', new Error('ran out of memory')]]);
  shadows.close();
});
