import { afterAll, beforeAll, expect } from 'vitest';
import { RunningService, temporaryFolder } from './running-service.ts';

/** Known while the tests of its suite run. */
export interface OneService {
  service: RunningService;
  /** Starts another process over the same data, once the one before has ended. */
  startAgain(): Promise<void>;
}

/** One process over a data folder of its own: for all tests of the suite that this is called in. */
export function oneService(): OneService {
  const folder = temporaryFolder();
  const running = {
    startAgain: async () => {
      running.service = await RunningService.start(folder.path);
    },
  } as OneService;
  beforeAll(() => running.startAgain());
  afterAll(async () => {
    expect(await running.service.stop()).toBe(0);
    folder.remove();
  });
  return running;
}
