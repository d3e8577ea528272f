#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { configCommand } from './cli/config.ts';
import { demoCommand } from './cli/demo.ts';
import { doctorCommand } from './cli/doctor.ts';
import { evaluateCommand } from './cli/evaluate.ts';
import { experimentCommand } from './cli/experiment.ts';
import { exportCommand } from './cli/export.ts';
import { importCommand } from './cli/import.ts';
import { repairCommand } from './cli/repair.ts';
import { serveCommand } from './cli/serve.ts';
import { simulateCommand } from './cli/simulate.ts';
import { lastWords } from './cli/user-error.ts';
import { workCommand } from './cli/work.ts';
import { packageRoot } from './package-root.ts';

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
  bandolier demo                       watch it learn, in a minute
  bandolier simulate --tools tools.json --queries labelled.jsonl
                                       would it learn on my tools?
  bandolier doctor                     is everything as it should be?
  bandolier export > everything.jsonl  take it all with you`,
  );
for (const command of [
  serveCommand(),
  workCommand(),
  importCommand(),
  exportCommand(),
  experimentCommand(),
  evaluateCommand(),
  demoCommand(),
  simulateCommand(),
  configCommand(),
  doctorCommand(),
  repairCommand(),
]) {
  program.addCommand(command);
}

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`${lastWords(error)}\n`);
  process.exitCode = 1;
}
