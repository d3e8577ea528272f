#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { packageRoot } from '../config/package-root.ts';
import { lastWords } from './cli/terminal.ts';

// Decisions hold what people asked: files and folders that are made here are for their owner alone.
process.umask(0o077);

const { version, description } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'));

const program = new Command('bandolier')
  .description(description)
  .version(version)
  .showHelpAfterError('(bandolier --help shows what there is)')
  .addHelpText(
    'after',
    `
Examples:
  bandolier serve --sample             run it with 150 tools to try
  bandolier import my-tools.json       give the running service your tools
  bandolier route "the customer wants their money back"
                                       ask it for tools
  bandolier report                     how is it going?
  bandolier learn --from ~/.claude/projects
                                       what do my transcripts say?
  bandolier demo                       watch it learn, in a minute
  bandolier simulate --tools tools.json --queries labelled.jsonl
                                       would it learn on my tools?
  bandolier doctor                     is everything as it should be?
  bandolier export > everything.jsonl  take it all with you`,
  );
/** Each is loaded when it is asked for: some bring libraries that take longer to load than all the rest. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./cli/serve.ts')).serveCommand(),
  work: async () => (await import('./cli/work.ts')).workCommand(),
  mcp: async () => (await import('./cli/mcp.ts')).mcpCommand(),
  route: async () => (await import('./cli/route.ts')).routeCommand(),
  explain: async () => (await import('./cli/explain.ts')).explainCommand(),
  decisions: async () => (await import('./cli/decisions.ts')).decisionsCommand(),
  stats: async () => (await import('./cli/stats.ts')).statsCommand(),
  health: async () => (await import('./cli/health.ts')).healthCommand(),
  report: async () => (await import('./cli/report.ts')).reportCommand(),
  rewards: async () => (await import('./cli/rewards.ts')).rewardsCommand(),
  import: async () => (await import('./cli/import.ts')).importCommand(),
  export: async () => (await import('./cli/export.ts')).exportCommand(),
  learn: async () => (await import('./cli/learn.ts')).learnCommand(),
  experiment: async () => (await import('./cli/experiment.ts')).experimentCommand(),
  evaluate: async () => (await import('./cli/evaluate.ts')).evaluateCommand(),
  demo: async () => (await import('./cli/demo.ts')).demoCommand(),
  simulate: async () => (await import('./cli/simulate.ts')).simulateCommand(),
  config: async () => (await import('./cli/config.ts')).configCommand(),
  doctor: async () => (await import('./cli/doctor.ts')).doctorCommand(),
  sources: async () => (await import('./cli/sources.ts')).sourcesCommand(),
  catalogs: async () => (await import('./cli/catalogs.ts')).catalogsCommand(),
  models: async () => (await import('./cli/models.ts')).modelsCommand(),
  backup: async () => (await import('./cli/copy.ts')).backupCommand(),
  restore: async () => (await import('./cli/copy.ts')).restoreCommand(),
  migrate: async () => (await import('./cli/copy.ts')).migrateCommand(),
  repair: async () => (await import('./cli/repair.ts')).repairCommand(),
  completion: async () => (await import('./cli/completion.ts')).completionCommand(all),
};
const all = (): Promise<Command[]> => Promise.all(Object.values(COMMANDS).map((make) => make()));
const asked = process.argv[2] ?? '';
const needed = (): string[] => {
  if (asked === '--version' || asked === '-V') return [];
  return Object.hasOwn(COMMANDS, asked) ? [asked] : Object.keys(COMMANDS);
};
for (const name of needed()) program.addCommand(await COMMANDS[name]());

// Whoever reads the output has seen enough: `bandolier decisions | head`.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit();
    throw error;
  });
}

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`${lastWords(error)}\n`);
  process.exitCode = 1;
}
