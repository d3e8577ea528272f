import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { Catalogs } from '../../src/catalog/catalogs.ts';
import { ExperimentDriver } from '../../src/experiments/experiment-driver.ts';
import { Experiments } from '../../src/experiments/experiments.ts';
import type { ExposureRecorder } from '../../src/experiments/exposure-recorder.ts';
import type { Leases } from '../../src/snapshots/snapshot-store.ts';
import { decision, observe, report, START, Story } from '../state/entries.ts';
import {
  answer,
  assignment,
  create,
  exposure,
  exposures,
  move,
  OTHER_POLICY,
  variant,
} from '../state/experiment-entries.ts';

const HOUR = 60 * 60 * 1000;
/** The driver looks every five seconds. */
const LOOK = 5_000;

/** A catalog with an automatic experiment that runs, and a driver for it whose clocks the test turns. */
class Driven {
  readonly story = Story.withTools(2);
  readonly troubles: string[] = [];
  now = START;
  leaseIsFree = true;
  leases = 0;
  driver: ExperimentDriver | null = null;

  constructor(more: object = {}) {
    const variants = [variant('old', 9000), variant('new', 1000, { policy: OTHER_POLICY })];
    const automatic = { minimumUnits: 60, minimumHours: 24 };
    answer(this.story, create({ variants, automatic, ...more }));
    move(this.story, { action: 'start' });
  }

  get trial() {
    return this.story.state.experiments.get('trial')!;
  }

  catalog(submit = async (entry: Parameters<Story['tell']>[0]) => this.story.tell(entry)): Catalog {
    const now = (): number => this.now;
    return { name: 'default', state: this.story.state, now, replica: { submit } } as unknown as Catalog;
  }

  drive(...all: Catalog[]): void {
    const get = (name: string) => all.find((catalog) => catalog.name === name)!;
    const catalogs = {
      all: () => all,
      get,
      holding: async (name: string, work: (catalog: Catalog) => unknown) => work(get(name)),
    };
    const recorder = { flush: async () => {} } as unknown as ExposureRecorder;
    const leases: Pick<Leases, 'acquire'> = {
      acquire: async (name) => {
        expect(name).toMatch(/^experiments-/);
        if (!this.leaseIsFree) return null;
        this.leases++;
        return { fence: 1, lost: new AbortController().signal, release: async () => {} };
      },
    };
    this.driver = new ExperimentDriver(catalogs as unknown as Catalogs, {
      experiments: new Experiments(catalogs as unknown as Catalogs, recorder),
      leases: leases as Leases,
      onError: (message) => this.troubles.push(message),
    });
  }

  /** So many units in the proportion of the shares; the new variant earns more, and takes so long. */
  visits(latencyMs = 1): void {
    const allocation = this.trial.allocation!.version;
    for (const [i, [name, share]] of [...this.trial.shares].entries()) {
      for (let unit = 0; unit < Math.round((800 * share) / 10_000); unit++) {
        const id = `${name}${this.story.entries.length}`;
        const to = assignment(unit * 2 + i, name, { allocation });
        this.story.tell(exposures([exposure(`default.${id}`, to)]));
        const value = (unit % 5) / 10 + (name === 'new' ? 0.5 : 0);
        const took = (unit % 7) + (name === 'new' ? latencyMs : 1);
        const reports = [report(`r${id}`, 't0', { value, latencyMs: took })];
        this.story.tell(observe(decision(id, ['t0'], { assignments: [to] }), reports));
      }
    }
  }
}

const look = () => vi.advanceTimersByTimeAsync(LOOK);

describe('the driver of automatic experiments', () => {
  let driven: Driven;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(async () => {
    await driven.driver?.close();
    vi.useRealTimers();
  });

  it('raises the share, then promotes, each when it is due and not before', async () => {
    driven = new Driven();
    driven.drive(driven.catalog());
    driven.visits();
    await look();
    expect([driven.trial.shares.get('new'), driven.leases]).toEqual([1000, 0]);
    driven.now += 24 * HOUR;
    await vi.advanceTimersByTimeAsync(LOOK - 1);
    expect(driven.trial.shares.get('new')).toBe(1000);
    await vi.advanceTimersByTimeAsync(1);
    expect(driven.trial.shares.get('new')).toBe(5000);
    expect(driven.trial.history.at(-1)).toMatchObject({ action: 'shares', actor: 'automatic promotion' });

    driven.visits();
    await look();
    expect(driven.trial.status).toBe('running');
    driven.now += 24 * HOUR;
    await look();
    expect(driven.trial).toMatchObject({ status: 'promoted', promoted: 'new' });
    expect(driven.story.state.settings.policy.name).toBe('cosine');
    await look();
    expect([driven.leases, driven.troubles]).toEqual([2, []]);
  });

  it('does not promote what a guardrail has taken out', async () => {
    driven = new Driven({ guardrails: [{ metric: 'latencyMs', harm: 'rise', tolerance: 20 }] });
    driven.drive(driven.catalog());
    driven.visits(500);
    driven.now += 100 * HOUR;
    await look();
    expect(driven.trial.variants.get('new')?.outBecause).toMatch(/latencyMs/);
    expect(driven.trial.status).toBe('stopped');
    expect(driven.story.state.settings.policy.name).not.toBe('cosine');
  });

  it('leaves it to the process that has the lease', async () => {
    driven = new Driven();
    driven.drive(driven.catalog());
    driven.visits();
    driven.now += 24 * HOUR;
    driven.leaseIsFree = false;
    await look();
    expect(driven.trial.shares.get('new')).toBe(1000);
    driven.leaseIsFree = true;
    await look();
    expect(driven.trial.shares.get('new')).toBe(5000);
  });

  it('does nothing when a user changed the shares, or stopped it, at the same moment', async () => {
    for (const theirs of [
      { action: 'shares', shares: { old: 7000, new: 3000 } },
      { action: 'stop' },
    ] as const) {
      driven = new Driven();
      driven.visits();
      driven.now += 24 * HOUR;
      const catalog = driven.catalog(async (entry) => {
        move(driven.story, theirs);
        return driven.story.tell(entry);
      });
      driven.drive(catalog);
      await look();
      expect(driven.leases).toBe(1);
      expect(driven.trial.history.at(-1)).toMatchObject({ action: theirs.action, actor: null });
      await driven.driver?.close();
    }
  });

  it('goes on with other catalogs, and tries again, when one cannot be changed', async () => {
    driven = new Driven();
    driven.visits();
    driven.now += 24 * HOUR;
    let broken = true;
    const sick = {
      ...driven.catalog(async () => {
        throw new Error('the ledger is away');
      }),
      name: 'sick',
    };
    const healthy = driven.catalog(async (entry) => {
      if (broken) throw new Error('not yet');
      return driven.story.tell(entry);
    });
    driven.drive(sick, healthy);
    await look();
    expect(driven.troubles).toEqual([
      expect.stringContaining('"sick"'),
      expect.stringContaining('"default"'),
    ]);
    broken = false;
    await look();
    expect(driven.trial.shares.get('new')).toBe(5000);
  });

  it('does nothing once it is closed', async () => {
    driven = new Driven();
    driven.drive(driven.catalog());
    driven.visits();
    driven.now += 24 * HOUR;
    await driven.driver!.close();
    await look();
    expect(driven.trial.shares.get('new')).toBe(1000);
  });
});
