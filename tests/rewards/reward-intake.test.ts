import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { Catalogs } from '../../src/catalog/catalogs.ts';
import type { DecisionHead } from '../../src/decisions/decision.ts';
import { StoreUnavailableError } from '../../src/errors/store-errors.ts';
import { FileJobQueue } from '../../src/queue/file-job-queue.ts';
import type { Job, JobQueue } from '../../src/queue/job-queue.ts';
import { AcceptedRewards } from '../../src/rewards/accepted-rewards.ts';
import type { RefusedReports } from '../../src/rewards/refused-reports.ts';
import { RewardIntake } from '../../src/rewards/reward-intake.ts';
import { observationKey, type RewardsJob } from '../../src/rewards/reward-job.ts';
import { ManualClock } from '../queue/manual-clock.ts';
import { START, Story } from '../state/entries.ts';
import { approve, merges, proposalOf, propose } from '../state/merge-entries.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';

const root = temporaryFolder();
const queues: JobQueue[] = [];
afterEach(async () => {
  for (const queue of queues.splice(0)) await queue.close(0);
});

async function fileQueue(maxJobs: number, folder = join(root, randomUUID())): Promise<FileJobQueue> {
  const queue = await FileJobQueue.open(folder, { maxJobs, clock: new ManualClock() });
  queues.push(queue);
  return queue;
}

/** A catalog in which every decision was made that is asked for. */
function openCatalog(name: string) {
  const closing = new AbortController();
  const catalog = { name, state: Story.withTools(1).state, closed: closing.signal };
  return { catalog: catalog as unknown as Catalog, close: () => closing.abort() };
}

function intakeOver(queue: Pick<JobQueue, 'add'>, accepted = new AcceptedRewards(queue)) {
  const open = new Map<string, Catalog>();
  const heads = new Map<string, Partial<DecisionHead>>();
  const catalogs = {
    get: (name: string) => open.get(name),
    holding: (name: string, work: (catalog: Catalog) => unknown) => work(open.get(name)!),
  } as unknown as Catalogs;
  const find = async (id: string) => ({
    ...{ id, catalog: id.split('.')[0], at: START, deadline: START + 60_000, activatedAt: START },
    shown: ['t0'],
    ...heads.get(id),
  });
  const clock = { now: () => START + 1000, lead: 0 };
  const refused = { count: () => {} } as unknown as RefusedReports;
  const intake = new RewardIntake(
    catalogs,
    { clock },
    { find, sink: accepted, refused, noteUses: async () => new Map() },
  );
  return { intake, accepted, open, heads };
}

const reports = (count: number, catalog = 'default', more = {}) =>
  Array.from({ length: count }, (_, i) => ({
    decisionId: `${catalog}.${i}`,
    tool: 't0',
    outcome: 'success' as const,
    ...more,
  }));

describe('a report about a decision that showed a merged tool', () => {
  it('is noted by what was merged then, whatever is merged now', async () => {
    const folder = join(root, randomUUID());
    const queue = await fileQueue(100, folder);
    const { intake, open, heads } = intakeOver(queue);
    const story = Story.withTools(3);
    const { id, ...proposal } = proposalOf(story.state, ['t0', 't1']);
    story.tell(propose({ id, ...proposal }));
    story.tell(approve(story.state, id));
    const { catalog } = openCatalog('default');
    open.set('default', { ...catalog, state: story.state } as unknown as Catalog);
    heads.set('default.0', { merged: { t0: id } });
    const noteOf = async (decisionId: string, tool: string) => {
      const [result] = await intake.report([{ decisionId, tool, outcome: 'success' }]);
      return (result as { note?: string }).note;
    };
    expect(await noteOf('default.0', 't1')).toBeUndefined();
    // A decision from before it was approved showed t0 itself.
    expect(await noteOf('default.1', 't1')).toContain('was not in the slate');
    story.tell(merges({ action: 'undo', id }));
    expect(await noteOf('default.0', 't1')).toBeUndefined();
    expect(await noteOf('default.0', 't0')).toBeUndefined();
    expect(await noteOf('default.0', 't2')).toContain('was not in the slate');
  });
});

describe('rewards in one call', () => {
  it.each([
    ['of more decisions than one job takes', () => reports(1000)],
    ['of two catalogs', () => [...reports(90), ...reports(90, 'other')]],
    [
      'of which some leave their decision open',
      () => [...reports(60), ...reports(150, 'other', { more: true })],
    ],
  ])('%s are accepted all or not at all', async (_, made) => {
    const folder = join(root, randomUUID());
    const queue = await fileQueue(1, folder);
    const { intake, open } = intakeOver(queue);
    for (const name of ['default', 'other']) open.set(name, openCatalog(name).catalog);
    await expect(intake.report(made())).rejects.toThrow(StoreUnavailableError);
    await queue.close(0);
    const reopened = await fileQueue(1, folder);
    expect((await reopened.pending()) + (await reopened.delayed())).toBe(0);
  });

  it('are a few jobs, and each of them is in one', async () => {
    const queue = await fileQueue(100);
    const { intake, open } = intakeOver(queue);
    for (const name of ['default', 'other']) open.set(name, openCatalog(name).catalog);
    const calls = [reports(350), reports(50, 'other'), reports(1, 'other', { more: true })];
    const results = (await Promise.all(calls.map((call) => intake.report(call)))).flat();
    expect(results.every((result) => 'status' in result && result.status === 'queued')).toBe(true);
    const jobs: RewardsJob[] = [];
    for await (const { name, payload } of queue.jobs())
      if (name === 'rewards') jobs.push(payload as RewardsJob);
    expect(jobs.length).toBeLessThan(7);
    expect(Math.max(...jobs.map(({ decisions }) => decisions.length))).toBe(100);
    const counts = { default: 0, other: 0 };
    for (const { catalog, decisions } of jobs) counts[catalog as 'other'] += decisions.length;
    expect(counts).toEqual({ default: 350, other: 51 });
    expect(await queue.delayed()).toBe(1);
  });
});

describe('rewards that a store has lost', () => {
  function recorded() {
    const added: RewardsJob[] = [];
    const add: JobQueue['add'] = async (jobs) => {
      for (const { payload } of jobs) added.push(payload as RewardsJob);
    };
    return { added, ...intakeOver({ add }) };
  }

  it('are sent again while their catalog is there, unless they have been folded', async () => {
    const { added, intake, accepted, open } = recorded();
    open.set('default', openCatalog('default').catalog);
    await intake.report(reports(3));
    const [{ decisions }] = added.splice(0);
    accepted.folded(observationKey(decisions[1]));
    await accepted.sendAgain('default');
    expect(added).toEqual([{ catalog: 'default', decisions: [decisions[0], decisions[2]] }]);
  });

  it('are sent again with the job that closes their decision, if they left it open', async () => {
    const added: Job[][] = [];
    const { intake, accepted, open } = intakeOver({ add: async (jobs) => void added.push([...jobs]) });
    open.set('default', openCatalog('default').catalog);
    await intake.report([...reports(1, 'default', { more: true }), ...reports(2).slice(1)]);
    await accepted.sendAgain('default');
    const [first, again] = added.map((jobs) => jobs.map(({ name, runAt }) => ({ name, runAt })));
    expect(again).toEqual(first);
    expect(again).toContainEqual({ name: 'settlement', runAt: START + 60_000 });
  });

  it('are not sent to a catalog that was created again under that name', async () => {
    const { added, intake, accepted, open } = recorded();
    const deleted = openCatalog('default');
    open.set('default', deleted.catalog);
    const underWay = intake.report(reports(2));
    await intake.report(reports(3));
    await underWay;
    deleted.close();
    open.set('default', openCatalog('default').catalog);
    await intake.report(reports(1));
    added.length = 0;
    await accepted.sendAgain('default');
    expect(added.map(({ decisions }) => decisions.length)).toEqual([1]);
  });

  it('are let go while they are sent again', async () => {
    const deleted = openCatalog('default');
    let tries = 0;
    const add: JobQueue['add'] = async () => {
      if (++tries === 1) return;
      deleted.close();
      throw new StoreUnavailableError('away');
    };
    const { intake, accepted, open } = intakeOver({ add });
    open.set('default', deleted.catalog);
    await intake.report(reports(1));
    await accepted.sendAgain('default');
    expect(tries).toBe(2);
  });
});
