#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { packageRoot } from '../config/package-root.ts';
import { COMMANDS } from './cli/commands.ts';
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
  bandolier import-prompt system.md    and the parts of your system prompt
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
const [asked = '', about = ''] = process.argv.slice(2);
const needed = asked === 'help' ? about : asked;
if (Object.hasOwn(COMMANDS, needed)) program.addCommand(await COMMANDS[needed][2]());
else
  for (const [name, [words, sentence]] of Object.entries(COMMANDS))
    program.command(`${name} ${words}`).description(sentence);

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
