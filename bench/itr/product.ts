import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Hono } from 'hono';
import { pino } from 'pino';
import { readSettings } from '../../config/read-settings.ts';
import { Admission } from '../../src/http/admission.ts';
import { createApp } from '../../src/http/app.ts';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import type { RouteAnswer } from '../../src/routing/route-answer.ts';
import { type Service, startService } from '../../src/service/service.ts';
import type { BenchInstruction } from './instructions.ts';

export interface RouteQuestion {
  readonly catalog: string;
  readonly query: string;
  readonly k: number;
  readonly tokenBudget?: number;
  readonly instructions?: boolean;
  readonly maxInstructions?: number;
  readonly assembly?: 'append' | 'prompt' | 'parts';
  readonly sessionId?: string;
  readonly explore?: boolean;
  readonly learn?: boolean;
}

/** Name of the cross-encoder that the bench was given. */
export const RERANKER = 'bench/reranker';

const TOO_MANY_REQUESTS = 429;

class Refused extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** The whole service in this process, without a socket, in a folder of its own. */
export class Product {
  readonly #service: Service;
  readonly #app: Hono;
  readonly #folder: string;
  /** What the last change of each catalog was answered with: later requests wait until it is known. */
  readonly #positions = new Map<string, string>();

  /** How often discovery was refused. */
  stormy = 0;

  private constructor(service: Service, app: Hono, folder: string) {
    this.#service = service;
    this.#app = app;
    this.#folder = folder;
  }

  /** @param reranker folder of a cross-encoder, which catalogs can name as `RERANKER` */
  static async start(reranker?: string): Promise<Product> {
    const folder = await mkdtemp(join(tmpdir(), 'bandolier-itr-'));
    if (reranker !== undefined) {
      await mkdir(join(folder, 'models'));
      await symlink(resolve(reranker), join(folder, 'models', RERANKER.replace('/', '--')));
    }
    const { settings } = readSettings({ folder, environment: {}, flags: { dataDir: folder } });
    const log = pino({ level: 'error' }, pino.destination({ fd: 2, sync: true }));
    const service = await startService(settings, log);
    return new Product(service, createApp(service, new Admission({ maxWaitMs: 1e6 }), log), folder);
  }

  async put(
    catalog: string,
    tools: readonly ToolDefinition[],
    instructions: readonly BenchInstruction[],
    settings: object = {},
  ): Promise<void> {
    await this.ask('PUT', `/v1/catalogs/${catalog}`, settings, catalog);
    await this.ask('PUT', `/v1/catalogs/${catalog}/tools`, { tools }, catalog);
    if (instructions.length === 0) return;
    const put = instructions.map((instruction) => ({ ...instruction, status: 'approved' }));
    await this.ask('PATCH', `/v1/catalogs/${catalog}/instructions`, { put }, catalog);
  }

  /** @param key the same key in the same state gives the same draws */
  async route(question: RouteQuestion, key: string): Promise<{ answer: RouteAnswer; milliseconds: number }> {
    const began = performance.now();
    const answer = await this.ask('POST', '/v1/route', question, question.catalog, key.replaceAll(' ', '-'));
    return { answer: answer as RouteAnswer, milliseconds: performance.now() - began };
  }

  /** Names of more tools for a decision; none where the service refuses to look for more. */
  async discover(decision: RouteAnswer, body: object): Promise<string[]> {
    const path = `/v1/decisions/${decision.decisionId}/discover`;
    const found = await this.ask('POST', path, body, decision.catalog).catch((error: unknown) => {
      if (!(error instanceof Refused) || error.status !== TOO_MANY_REQUESTS) throw error;
      this.stormy++;
      return { tools: [] };
    });
    return (found as Pick<RouteAnswer, 'tools'>).tools.map(({ name }) => name);
  }

  async report(decision: RouteAnswer, tool: string, outcome: 'success' | 'failure'): Promise<void> {
    const path = `/v1/decisions/${decision.decisionId}/rewards`;
    await this.ask('POST', path, { tool, outcome }, decision.catalog);
  }

  async ask(method: string, path: string, body: unknown, catalog: string, key?: string): Promise<unknown> {
    const position = this.#positions.get(catalog);
    const headers = {
      'content-type': 'application/json',
      ...(position !== undefined && { 'x-bandolier-position': position }),
      ...(key !== undefined && { 'idempotency-key': key }),
    };
    const response = await this.#app.request(path, { method, headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok)
      throw new Refused(`${method} ${path} answers ${response.status}: ${text}`, response.status);
    const reached = response.headers.get('x-bandolier-position');
    if (reached !== null) this.#positions.set(catalog, reached);
    return JSON.parse(text);
  }

  async close(): Promise<void> {
    await this.#service.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
