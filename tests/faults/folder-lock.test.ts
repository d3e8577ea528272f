import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { RouteAnswer } from '../../src/routing/route-answer.ts';
import { RunningService, temporaryFolder, until } from '../e2e/running-service.ts';
import { Shop } from '../e2e/shop.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

/** Another process namespace, as each container has its own; the service has number 1 in it. */
const CONTAINER = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
/** Another kernel, as far as a process can see. */
const bootId = join(folder.path, 'boot-id');
writeFileSync(bootId, '00000000-0000-4000-8000-000000000000\n');
const OTHER_MACHINE = [
  ...['unshare', '--mount', 'sh', '-c'],
  ...[`mount --bind "${bootId}" /proc/sys/kernel/random/boot_id && exec "$@"`, 'sh'],
];

/** Why this cannot be run here; null if it can. */
function obstacle([command, ...words]: readonly string[]): string | null {
  const { status, stderr, error } = spawnSync(command, [...words, 'true'], { encoding: 'utf8' });
  return status === 0 ? null : `not permitted here: ${stderr ?? error}`;
}

const noContainer = obstacle(CONTAINER);
const noMachine = obstacle(OTHER_MACHINE);

/** Somebody who reports on one decision until the service says no, and keeps what it was promised. */
class Reporter {
  readonly accepted: string[] = [];
  sent = 0;
  readonly #service: RunningService;
  readonly #decisionId: string;

  constructor(service: RunningService, decisionId: string) {
    this.#service = service;
    this.#decisionId = decisionId;
  }

  /** Answers the status that ended it; 0 when the connection did. */
  async reportUntilRefused(): Promise<number> {
    for (;;) {
      this.sent++;
      const body = { tool: 'refund_payment', outcome: 'success', more: true };
      const answer = await this.#service
        .request<{ rewardId: string }>('POST', `/v1/decisions/${this.#decisionId}/rewards`, body)
        .catch(() => null);
      if (answer?.status !== 202) return answer?.status ?? 0;
      this.accepted.push(answer.body.rewardId);
    }
  }
}

async function decisionOf(service: RunningService): Promise<string> {
  return (await service.ask<RouteAnswer>('POST', '/v1/route', { query: 'my money back' })).decisionId;
}

describe.skipIf(noContainer !== null)(
  `two containers with one host name (${noContainer ?? 'real ones'})`,
  () => {
    it('do not share a data folder: the second does not start, also while the first is paused', async () => {
      const dataDir = join(folder.path, 'containers');
      const first = await RunningService.start(dataDir, [], {}, CONTAINER);
      await Shop.open(first, 'default');
      const refused = () => RunningService.start(dataDir, [], {}, CONTAINER).catch((error: Error) => error);
      const wasRefused = {
        message: expect.stringMatching(/ended with code 1[\s\S]*is in use by process 1 on/),
      };
      expect(await refused()).toMatchObject(wasRefused);

      const [inner] = childrenOf(first.process.pid!);
      process.kill(inner, 'SIGSTOP');
      makeSilent(dataDir);
      expect(await refused()).toMatchObject(wasRefused);
      process.kill(inner, 'SIGCONT');
      expect((await first.request('GET', '/readyz')).status).toBe(200);
      await first.kill();
      const next = await RunningService.start(dataDir);
      expect(await next.stop()).toBe(0);
    });
  },
);

describe.skipIf(noMachine !== null)(`two machines with one folder (${noMachine ?? 'as they see it'})`, () => {
  it('a service that was paused and succeeded ends, and promised nothing that its successor does not know', async () => {
    const dataDir = join(folder.path, 'machines');
    const paused = await RunningService.start(dataDir);
    await Shop.open(paused, 'default');
    const decisionId = await decisionOf(paused);
    const before = Array.from({ length: 8 }, () => new Reporter(paused, decisionId));
    const refusals = Promise.all(before.map((reporter) => reporter.reportUntilRefused()));
    await until(() => before.every(({ accepted }) => accepted.length > 10));
    paused.process.kill('SIGSTOP');
    makeSilent(dataDir);

    const successor = await RunningService.start(dataDir, [], {}, OTHER_MACHINE);
    const shop = new Shop(successor, 'default');
    await shop.settled();
    const ended = once(paused.process, 'close');
    paused.process.kill('SIGCONT');
    expect(new Set([0, 503])).toEqual(new Set([0, 503, ...(await refusals)]));
    expect(await ended).toEqual([1, null]);
    expect(paused.output).toContain(`Another process has taken "${dataDir}"`);

    const own = new Reporter(successor, decisionId);
    const end = own.reportUntilRefused();
    await until(() => own.accepted.length > 50);
    await successor.kill();
    await end;

    // On another machine than the one that was killed: its silence has to be waited for.
    makeSilent(dataDir);
    const last = await RunningService.start(dataDir);
    const promised = [...before.flatMap(({ accepted }) => accepted), ...own.accepted];
    await last.settled();
    for (const id of promised) {
      expect(await last.ask('GET', `/v1/rewards/${id}`)).toMatchObject({ status: 'applied' });
    }
    const sent = before.reduce((sum, reporter) => sum + reporter.sent, own.sent);
    const { called } = await new Shop(last, 'default').stats('refund_payment');
    expect(called).toBeGreaterThanOrEqual(promised.length);
    expect(called).toBeLessThanOrEqual(sent);
    expect(await last.stop()).toBe(0);
  });
});

function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', `${pid}`], { encoding: 'utf8' });
  return stdout.split('\n').filter(Boolean).map(Number);
}

/** As if the holder had not been heard of for longer than is waited for. */
function makeSilent(dataDir: string): void {
  const past = Date.now() / 1000 - 16;
  for (const name of readdirSync(dataDir)) {
    if (name.endsWith('.lock')) utimesSync(join(dataDir, name), past, past);
  }
}
