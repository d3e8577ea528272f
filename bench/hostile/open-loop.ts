import { Agent, request } from 'node:http';
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';

/** Answers by what they were; times in milliseconds from when the request was sent. */
export interface Outcome {
  readonly sent: number;
  readonly accepted: readonly number[];
  /** 429 and 503. */
  readonly refused: readonly number[];
  /** Ended without an answer. */
  readonly broken: number;
  /** Other answers, by status. */
  readonly others: Readonly<Record<number, number>>;
}

export interface Answered {
  readonly status: number | null;
  readonly ms: number;
}

/** Sends without waiting for answers, over as many connections as that takes. */
export class OpenLoop {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

  constructor(url: string) {
    this.#url = url;
  }

  /** `status` is null when the connection ended without an answer. */
  send(method: string, path: string, body = ''): Promise<Answered> {
    return new Promise((resolve) => {
      const start = performance.now();
      const done = (status: number | null): void => resolve({ status, ms: performance.now() - start });
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      const sent = request(this.#url + path, { method, agent: this.#agent, headers }, (response) => {
        response.resume();
        response.once('end', () => done(response.statusCode ?? null));
        response.once('error', () => done(null));
      });
      sent.once('error', () => done(null));
      sent.end(body);
    });
  }

  /** A steady stream, whatever becomes of it. */
  async atRate(path: string, body: () => string, perSecond: number, seconds: number): Promise<Outcome> {
    const answers: Promise<Answered>[] = [];
    const start = performance.now();
    for (const total = perSecond * seconds; answers.length < total; ) {
      const due = start + (answers.length * 1000) / perSecond;
      if (due > performance.now()) await wait(1);
      else {
        answers.push(this.send('POST', path, body()));
        // Whoever is late must not send only, or the answers that are there are taken for late ones.
        if (answers.length % 8 === 0) await nextTurn();
      }
    }
    return outcomeOf(await Promise.all(answers));
  }

  /** As many as are answered, `clients` at a time; a second. */
  async saturate(path: string, body: () => string, clients: number, seconds: number): Promise<number> {
    const end = performance.now() + seconds * 1000;
    let count = 0;
    const client = async (): Promise<void> => {
      while (performance.now() < end) if ((await this.send('POST', path, body())).status === 200) count++;
    };
    await Promise.all(Array.from({ length: clients }, client));
    return count / seconds;
  }

  close(): void {
    this.#agent.destroy();
  }
}

function outcomeOf(answers: readonly Answered[]): Outcome {
  const accepted: number[] = [];
  const refused: number[] = [];
  const others: Record<number, number> = {};
  let broken = 0;
  for (const { status, ms } of answers) {
    if (status === null) broken++;
    else if (status < 300) accepted.push(ms);
    else if (status === 429 || status === 503) refused.push(ms);
    else others[status] = (others[status] ?? 0) + 1;
  }
  return { sent: answers.length, accepted, refused, broken, others };
}
