/**
 * Is the sufficiency of a slate true? An agent routes 2,000 queries; then it is predicted for queries that were never asked, and compared
 * with what the agent makes of their slates.
 *
 *   npx tsx bench/sufficiency.ts [--data ../shared/data] [--streams "seen validation,unseen validation,seal-tools,toollens,unseen"] [--decisions 2000]
 *
 * Whoever changes features or prior weights chooses by the `validation` streams. Prints the calibration error and a reliability table.
 */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Reliability } from '../bandit/calibration/reliability.ts';
import { randomFor } from '../bandit/random.ts';
import { DEFAULT_CATALOG_SETTINGS } from '../src/ledger/catalog-settings.ts';
import { bundledModelFolder, openModelFolder } from '../src/models/open-embedder.ts';
import { CAREFUL_AGENT, type Call, conductOf } from '../src/simulation/agent.ts';
import { shuffled } from '../src/simulation/catalog-changes.ts';
import type { LabelledQuery } from '../src/simulation/evaluate.ts';
import { SimulatedCatalog } from '../src/simulation/simulated-catalog.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { type StreamName, streamOf } from './streams.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    streams: { type: 'string', default: 'seen validation,unseen validation,seal-tools,toollens,unseen' },
    decisions: { type: 'string', default: '2000' },
  },
});
const SHOWN = 5;

async function main(): Promise<void> {
  if (!existsSync(values.data)) return console.log(`No data in ${values.data}.`);
  const embedder = await openModelFolder(bundledModelFolder());
  for (const name of values.streams.split(',') as StreamName[]) {
    const { tools, queries, heldOut } = await streamOf(name, values.data, embedder);
    const kernels = await loadKernels();
    const { policy } = DEFAULT_CATALOG_SETTINGS;
    const catalog = new SimulatedCatalog(kernels, tools[0].embedding?.length ?? 0, policy);
    catalog.put(tools);
    const conduct = (id: string, query: LabelledQuery) => {
      const decision = catalog.decide(id, query, SHOWN, true);
      const shown = decision.slate.map((index) => decision.candidates[index]);
      const { calls } = conductOf(shown, new Set(query.relevant), CAREFUL_AGENT, randomFor(`agent/${id}`));
      return { decision, calls };
    };
    const before = judge(heldOut, conduct, 'before');
    const stream = shuffled(queries, 'sufficiency').slice(0, Number(values.decisions));
    for (const [step, query] of stream.entries()) {
      catalog.advance(step);
      const { decision, calls } = conduct(`bench.${step}`, query);
      catalog.report(decision, calls);
    }
    const after = judge(heldOut, conduct, 'after');
    const online = catalog.state.sufficiency.reliability.error;
    console.log(`\n${name}: ${stream.length} outcomes, ${heldOut.length} unseen queries`);
    console.log(
      `ECE ${before.error.toFixed(3)} before, ${after.error.toFixed(3)} after (${online.toFixed(3)} as it learned)`,
    );
    console.log('predicted   queries   mean predicted   sufficed');
    for (const { from, to, count, predicted, observed } of after.bins()) {
      if (count > 0)
        console.log(
          `${from.toFixed(1)}–${to.toFixed(1)}   ${String(count).padStart(7)}   ${predicted.toFixed(3).padStart(14)}   ${observed.toFixed(3)}`,
        );
    }
    console.log(
      `weights ${[...catalog.state.sufficiency.weights].map((weight) => weight.toFixed(2)).join(' ')}`,
    );
    catalog.free();
  }
  await embedder.close();
}

/** Predicts unseen queries, and looks at what the agent makes of their slates. */
function judge(
  queries: readonly LabelledQuery[],
  conduct: (
    id: string,
    query: LabelledQuery,
  ) => { decision: { sufficiency?: number }; calls: readonly Call[] },
  when: string,
): Reliability {
  const reliability = new Reliability();
  for (const [at, query] of queries.entries()) {
    const { decision, calls } = conduct(`judge.${when}.${at}`, query);
    const suffices = calls.length > 0 && calls.every(({ success }) => success) ? 1 : 0;
    reliability.add(decision.sufficiency!, suffices);
  }
  return reliability;
}

await main();
