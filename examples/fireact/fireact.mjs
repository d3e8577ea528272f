#!/usr/bin/env node
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { runTurn } from './agent.mjs';
import { ChatModel } from './chat-model.mjs';
import { Router } from './router.mjs';
import { Tools } from './tools.mjs';
import { traceOf } from './trace.mjs';

const USAGE = `node examples/fireact/fireact.mjs [options] <what the user says>

  --router <url>      the router                                  http://127.0.0.1:8787
  --catalog <name>    its catalog                                 default
  --model-url <url>   OpenAI-compatible endpoint, with its /v1    OPENAI_BASE_URL, or https://api.openai.com/v1
  --model <name>      the model there                             OPENAI_MODEL
  --k <number>        tools per step                              5
  --max-steps <n>     steps until it gives up                     8
  --trace             show every step

The key for the endpoint is read from OPENAI_API_KEY; a local model needs none.
`;

class UsageError extends Error {}

/** @throws UsageError that says what is missing. */
function readOptions(words, environment) {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: {
      router: { type: 'string', default: 'http://127.0.0.1:8787' },
      catalog: { type: 'string', default: 'default' },
      'model-url': { type: 'string', default: environment.OPENAI_BASE_URL ?? 'https://api.openai.com/v1' },
      model: { type: 'string', default: environment.OPENAI_MODEL },
      k: { type: 'string', default: '5' },
      'max-steps': { type: 'string', default: '8' },
      trace: { type: 'boolean', default: false },
    },
  });
  const task = positionals.join(' ').trim();
  if (task === '') throw new UsageError('Say what the user says.');
  if (values.model === undefined) throw new UsageError('Name a model: --model or OPENAI_MODEL.');
  return { ...values, task, key: environment.OPENAI_API_KEY };
}

async function main() {
  const options = readOptions(process.argv.slice(2), process.env);
  const { answer, steps } = await runTurn(options.task, {
    router: new Router({ url: options.router, catalog: options.catalog, sessionId: randomUUID() }),
    model: new ChatModel({ url: options['model-url'], model: options.model, key: options.key }),
    tools: new Tools(),
    k: Number(options.k),
    maxSteps: Number(options['max-steps']),
    onStep: (step) => {
      if (options.trace) process.stdout.write(traceOf(step));
    },
  });
  if (answer === null) throw new Error(`It did not come to an end within ${steps} steps.`);
  process.stdout.write(`${answer}\n`);
}

main().catch((error) => {
  const isUsage = error instanceof UsageError || error.code?.startsWith('ERR_PARSE_ARGS');
  process.stderr.write(`${error.message}\n${isUsage ? `\n${USAGE}` : ''}`);
  process.exitCode = 1;
});
