import { Command } from 'commander';
import { expect, it } from 'vitest';
import { allCommands, COMMANDS } from '../../src/cli/commands.ts';

it('the list of commands says what each says of itself', async () => {
  const program = new Command();
  const help = program.createHelp();
  const listed = Object.entries(COMMANDS).map(([name, [words, sentence]]) => [
    `${name} ${words}`.trim(),
    sentence,
  ]);
  const commands = await allCommands();
  expect(listed).toEqual(commands.map((command) => [help.subcommandTerm(command), command.description()]));
});
