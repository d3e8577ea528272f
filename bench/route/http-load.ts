import { Agent, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

export interface Post {
  readonly path: string;
  /** The body of the next request. */
  readonly body: () => string;
}

export interface Throughput {
  readonly perSecond: number;
  readonly count: number;
}

/** Milliseconds. */
export interface Latency {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly count: number;
}

export interface SteadyLatency extends Latency {
  /** By how much requests were sent later than they were due, p99: then the load had too little of a processor, not the service. */
  readonly late: number;
}

/** Sends POST requests to one service over kept connections and takes times. */
export class HttpLoad {
  readonly #url: string;
  readonly #agent: Agent;

  constructor(url: string, connections = 64) {
    this.#url = url;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** @throws Error on an answer that is no success. */
  send(path: string, body: string, method = 'POST'): Promise<string> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      const sent = request(this.#url + path, { method, agent: this.#agent, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          if ((response.statusCode ?? 500) < 300) resolve(text);
          else reject(new Error(`${method} ${path}: ${response.statusCode} ${text.slice(0, 300)}`));
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  /** As many as can be answered, `clients` at a time. */
  async saturate({ path, body }: Post, clients: number, seconds: number): Promise<Throughput> {
    const start = performance.now();
    const end = start + seconds * 1000;
    let count = 0;
    const client = async (): Promise<void> => {
      for (; performance.now() < end; count++) await this.send(path, body());
    };
    await Promise.all(Array.from({ length: clients }, client));
    return { count, perSecond: (count * 1000) / (performance.now() - start) };
  }

  /** So many, `clients` at a time. */
  async sendMany({ path, body }: Post, clients: number, count: number): Promise<void> {
    let left = count;
    const client = async (): Promise<void> => {
      while (left-- > 0) await this.send(path, body());
    };
    await Promise.all(Array.from({ length: clients }, client));
  }

  /**
   * A steady stream, whether or not earlier ones were answered. Times are taken from when a request was sent, which no
   * answer delays: a server that stands still for a while pays for everybody whom it kept waiting.
   */
  async atRate({ path, body }: Post, perSecond: number, seconds: number): Promise<SteadyLatency> {
    const times: number[] = [];
    const late = await onSchedule(perSecond, seconds, async () => {
      const sent = performance.now();
      await this.send(path, body());
      times.push(performance.now() - sent);
    });
    return { ...latencyOf(times), late: late.p99 };
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Begins one after the other at even intervals, and waits for all; returns by how much they began too late. */
export async function onSchedule(
  perSecond: number,
  seconds: number,
  begin: (n: number) => Promise<void>,
): Promise<Latency> {
  const late: number[] = [];
  const begun: Promise<void>[] = [];
  const start = performance.now();
  while (begun.length < perSecond * seconds) {
    const early = start + (begun.length * 1000) / perSecond - performance.now();
    if (early > 0) {
      await wait(early < 2 ? 0 : early - 1);
      continue;
    }
    late.push(-early);
    begun.push(begin(begun.length));
  }
  await Promise.all(begun);
  return latencyOf(late);
}

export function latencyOf(times: number[]): Latency {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  return { p50: at(0.5), p99: at(0.99), max: at(1), count: times.length };
}
