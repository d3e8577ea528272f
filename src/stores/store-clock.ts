import { uptime } from 'node:os';

/** What is in the store may be ahead of here by this without moving the time; ms. */
const MOMENT_MS = 1_000;
/** A difference up to this between two looks, or to another clock, is followed and nothing to speak of; ms. */
const SKEW_MS = 5_000;
const LOOK_EVERY_MS = 30_000;
/** An answer that took longer says little about what time it is; ms. */
const SLOW_ANSWER_MS = 1_000;

export interface StoreClockOptions {
  /** Whose clock keeps the time. */
  readonly keeper: 'this machine' | 'Redis';
  /** What the keeper says, ms since the epoch. */
  readonly ask: () => Promise<number> | number;
  /** What this machine says, ms since the epoch. */
  readonly wallNow?: () => number;
  /** ms of a clock that never jumps. */
  readonly steadyNow?: () => number;
  /** ms since the machine was started, its sleep included. */
  readonly uptimeNow?: () => number;
  /** A clock was found to be wrong: a sentence that says which, by how much, and what to do. */
  readonly onSkew: (sentence: string) => void;
}

/**
 * The time of one deployment, ms since the epoch, for everything that is stored or compared with what is stored. Its base is
 * the time of its keeper (Redis, or this machine), read once; then it follows a steady clock, so that setting a machine's
 * clock changes nothing. It is never behind the times in the store (`notice`), so that a clock which was ahead once makes
 * nothing late, and it never goes back.
 */
export class StoreClock {
  readonly #options: Required<StoreClockOptions>;
  readonly #timer: NodeJS.Timeout;
  /** Keeper's time minus steady time. */
  #offset: number;
  /** How far the store is ahead of its keeper. */
  #lead = 0;
  #newest = 0;
  /** Difference to the keeper that was too large to follow, at the last look. */
  #jump = 0;
  #asleep: number;
  #said = '';

  private constructor(options: Required<StoreClockOptions>, offset: number) {
    this.#options = options;
    this.#offset = offset;
    this.#asleep = this.#sleepSoFar();
    this.#timer = setInterval(() => void this.look(), LOOK_EVERY_MS).unref();
  }

  /** @throws what `ask` throws */
  static async start(options: StoreClockOptions): Promise<StoreClock> {
    const complete = {
      wallNow: () => Date.now(),
      steadyNow: () => performance.now(),
      uptimeNow: () => uptime() * 1000,
      ...options,
    };
    const { offset } = await compare(complete);
    return new StoreClock(complete, offset);
  }

  readonly now = (): number => {
    this.#newest = Math.max(this.#newest, Math.floor(this.keeperNow() + this.#lead));
    return this.#newest;
  };

  /** Call with a time found in the store. If it is ahead by a second or less, `now` waits for it; if more, `now` moves ahead. */
  readonly notice = (time: number): void => {
    const ahead = time - this.now();
    if (ahead <= 0) return;
    if (ahead > MOMENT_MS) this.#lead += ahead;
    this.#newest = time;
  };

  /** Returns the time of the keeper, extrapolated from the last look; ms since the epoch. */
  keeperNow(): number {
    return this.#options.steadyNow() + this.#offset;
  }

  /** How far times in the store were ahead of the keeper, ms; 0 in a deployment whose clocks were never wrong. */
  get lead(): number {
    return this.#lead;
  }

  /** Returns a sentence for each clock that is wrong. */
  skews(): string[] {
    const { keeper, wallNow } = this.#options;
    const machine = wallNow() - this.keeperNow();
    const skews: string[] = [];
    if (this.#jump !== 0) {
      skews.push(
        `The clock of ${keeper} was set ${duration(this.#jump)} while this process ran, which goes on with the time of its start: see that the clock is right, then restart this process.`,
      );
    } else if (keeper === 'Redis' && Math.abs(machine) > SKEW_MS) {
      skews.push(
        `The clock of this machine is ${compared(machine)} that of Redis, which is used instead: synchronise the machine's clock (NTP).`,
      );
    }
    if (this.#lead > SKEW_MS) {
      skews.push(
        `What is stored is ${compared(this.#lead)} the clock of ${keeper}: that clock was ahead once, or is behind now. Time goes on from what is stored, and nothing is lost; synchronise the clock (NTP).`,
      );
    }
    return skews;
  }

  /** Compares with the keeper. Drift, small steps, and what the machine slept through are followed; a jump is reported. */
  async look(): Promise<void> {
    const compared = await compare(this.#options).catch(() => null);
    if (compared !== null && compared.took <= SLOW_ANSWER_MS) this.#follow(compared.offset);
    this.report();
  }

  /** Calls `onSkew` for each clock that is wrong, once for each finding. */
  report(): void {
    const skews = this.skews();
    // Figures grow by milliseconds all the time; only what is found is news.
    const found = skews.map((sentence) => sentence.replace(/\d[\d.]* \w+/, '')).join();
    if (found !== this.#said) for (const sentence of skews) this.#options.onSkew(sentence);
    this.#said = found;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #follow(offset: number): void {
    const difference = offset - this.#offset;
    const asleep = this.#sleepSoFar();
    const slept = asleep - this.#asleep;
    if (Math.min(Math.abs(difference), Math.abs(difference - slept)) > SKEW_MS) {
      this.#jump = difference;
      return;
    }
    this.#jump = 0;
    this.#asleep = asleep;
    this.#offset = offset;
  }

  /** Steady clocks stand still while a machine sleeps. */
  #sleepSoFar(): number {
    return this.#options.uptimeNow() - this.#options.steadyNow();
  }
}

async function compare({ ask, steadyNow }: Pick<Required<StoreClockOptions>, 'ask' | 'steadyNow'>) {
  const asked = steadyNow();
  const time = await ask();
  const answered = steadyNow();
  return { offset: time - (asked + answered) / 2, took: answered - asked };
}

const UNITS = [
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
  ['seconds', 1000],
] as const;

/** "3.0 hours ahead of", "3.0 hours behind" */
function compared(ms: number): string {
  return duration(ms) + (ms > 0 ? ' of' : '');
}

/** "3.0 hours ahead" */
function duration(ms: number): string {
  const size = Math.abs(ms);
  const [unit, length] = UNITS.find(([, one]) => size >= 2 * one) ?? UNITS[3];
  return `${(size / length).toFixed(1)} ${unit} ${ms > 0 ? 'ahead' : 'behind'}`;
}
