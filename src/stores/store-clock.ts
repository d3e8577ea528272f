import { uptime } from 'node:os';

/** A time in the store that is ahead by at most this does not move the clock; ms. */
const MOMENT_MS = 1_000;
/** A difference up to this is followed and not reported; ms. */
const SKEW_MS = 5_000;
const LOOK_EVERY_MS = 30_000;
/** An answer that took longer is too inaccurate to use; ms. */
const SLOW_ANSWER_MS = 1_000;

export interface StoreClockOptions {
  /** Whose clock is the reference clock. */
  readonly reference: 'this machine' | 'Redis';
  /** Reads the reference clock, ms since the epoch. */
  readonly ask: () => Promise<number> | number;
  /** Reads the clock of this machine, ms since the epoch. */
  readonly wallNow?: () => number;
  /** ms of a clock that never jumps. */
  readonly steadyNow?: () => number;
  /** ms since the machine was started, its sleep included. */
  readonly uptimeNow?: () => number;
  /** Is called when a clock is wrong, with a sentence that says which, by how much, and what to do. */
  readonly onSkew: (sentence: string) => void;
}

/**
 * Gives the time of one deployment, ms since the epoch, for everything that is stored or compared with stored times. It reads
 * the reference clock (of Redis, or of this machine) once, and then follows a steady clock, so that setting a machine's clock
 * changes nothing. It is never behind the times in the store (`notice`), so that rewards are not late because a clock was
 * ahead once, and it never goes back.
 */
export class StoreClock {
  readonly #options: Required<StoreClockOptions>;
  readonly #timer: NodeJS.Timeout;
  /** Time of the reference clock minus that of the steady clock. */
  #offset: number;
  /** How far times in the store are ahead of the reference clock. */
  #lead = 0;
  #newest = 0;
  /** Difference to the reference clock that was too large to follow, at the last look. */
  #jump = 0;
  #asleep: number;
  #said = '';

  private constructor(options: Required<StoreClockOptions>, offset: number) {
    this.#options = options;
    this.#offset = offset;
    this.#asleep = this.#sleepSoFar();
    this.#timer = setInterval(() => void this.look(), LOOK_EVERY_MS).unref();
  }

  /** Reads the reference clock and starts. @throws what `ask` throws */
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
    this.#newest = Math.max(this.#newest, Math.floor(this.referenceNow() + this.#lead));
    return this.#newest;
  };

  /** Call it with a time found in the store. If that is ahead by a second or less, `now` stands still until then; if more, `now` moves ahead. */
  readonly notice = (time: number): void => {
    const ahead = time - this.now();
    if (ahead <= 0) return;
    if (ahead > MOMENT_MS) this.#lead += ahead;
    this.#newest = time;
  };

  /** Returns the time of the reference clock, extrapolated from the last look; ms since the epoch. */
  referenceNow(): number {
    return this.#options.steadyNow() + this.#offset;
  }

  /** Returns how far times in the store were ahead of the reference clock, ms; 0 in a deployment whose clocks were never wrong. */
  get lead(): number {
    return this.#lead;
  }

  /** Returns a sentence for each clock that is wrong. */
  skews(): string[] {
    const { reference, wallNow } = this.#options;
    const machine = wallNow() - this.referenceNow();
    const skews: string[] = [];
    if (this.#jump !== 0) {
      skews.push(
        `The clock of ${reference} was set ${duration(this.#jump)} while this process ran, which goes on with the time of its start: see that the clock is right, then restart this process.`,
      );
    } else if (reference === 'Redis' && Math.abs(machine) > SKEW_MS) {
      skews.push(
        `The clock of this machine is ${compared(machine)} that of Redis, which is used instead: synchronise the machine's clock (NTP).`,
      );
    }
    if (this.#lead > SKEW_MS) {
      skews.push(
        `What is stored is ${compared(this.#lead)} the clock of ${reference}: that clock was ahead once, or is behind now. Time goes on from what is stored, and nothing is lost; synchronise the clock (NTP).`,
      );
    }
    return skews;
  }

  /** Compares with the reference clock. Drift, small steps and the time that the machine slept are followed; a jump is reported. */
  async look(): Promise<void> {
    const compared = await compare(this.#options).catch(() => null);
    if (compared !== null && compared.took <= SLOW_ANSWER_MS) this.#follow(compared.offset);
    this.report();
  }

  /** Calls `onSkew` for each clock that is wrong, once for each finding. */
  report(): void {
    const skews = this.skews();
    // The figures change all the time, so findings are compared without them.
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

  /** Returns how long the machine has slept, ms: steady clocks stand still meanwhile. */
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
