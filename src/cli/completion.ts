import { Argument, Command } from 'commander';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** @param loadAll makes every command of the program */
export function completionCommand(loadAll: () => Promise<readonly Command[]>): Command {
  return new Command('completion')
    .description('print what makes a shell complete the commands and options of bandolier')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText(
      'after',
      `
  bash  eval "$(bandolier completion bash)"                        in ~/.bashrc
  zsh   eval "$(bandolier completion zsh)"                         in ~/.zshrc, after compinit
  fish  bandolier completion fish > ~/.config/fish/completions/bandolier.fish`,
    )
    .action(async (shell: (typeof SHELLS)[number]) => {
      const places = placesOf('', await loadAll());
      process.stdout.write({ bash, zsh, fish }[shell](places));
    });
}

/** A command that has been typed so far, and what can follow. */
interface Place {
  /** `experiment report`; empty at first. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly string[];
  /** What an argument may be. */
  readonly choices: readonly string[];
  /** What an option may be, by its name. */
  readonly values: Readonly<Record<string, readonly string[]>>;
}

function placesOf(
  path: string,
  commands: readonly Command[],
  here: Pick<Place, 'options' | 'choices' | 'values'> = { options: ['--help'], choices: [], values: {} },
): Place[] {
  const named = commands.map((command) => ({ name: command.name(), description: command.description() }));
  const below = commands.flatMap((command) => {
    const own = command.options.map(({ long }) => long).filter((long) => long != null);
    const values = command.options.flatMap(({ long, argChoices }) =>
      long && argChoices ? [[long, argChoices]] : [],
    );
    return placesOf(`${path} ${command.name()}`.trim(), command.commands, {
      options: ['--help', ...own],
      choices: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
      values: Object.fromEntries(values),
    });
  });
  return [{ path, commands: named, ...here }, ...below];
}

/**
 * Finds the place in `at`, and what can follow in `next`; words that are no commands change nothing.
 * @param before the word before the one that is typed
 */
function findPlace(places: readonly Place[], typed: string, before: string): string {
  const paths = places.filter(({ path }) => path !== '').map(({ path }) => `"${path}"`);
  const next = places.map(({ path, commands, options, choices }) => {
    return `    "${path}") next="${[...commands.map(({ name }) => name), ...choices, ...options].join(' ')}" ;;`;
  });
  const values = places.flatMap(({ path, values: known }) =>
    Object.entries(known).map(([option, some]) => `    "${path} ${option}") next="${some.join(' ')}" ;;`),
  );
  return `  local at="" word next=""
  for word in ${typed}; do
    case "\${at:+$at }$word" in
    ${paths.join('|')}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at" in
${next.join('\n')}
  esac
  case "$at ${before}" in
${values.join('\n')}
  esac`;
}

function bash(places: readonly Place[]): string {
  return `_bandolier() {
${findPlace(places, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`, `\${COMP_WORDS[COMP_CWORD-1]}`)}
  COMPREPLY=($(compgen -W "$next" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _bandolier bandolier
`;
}

function zsh(places: readonly Place[]): string {
  return `#compdef bandolier
_bandolier() {
${findPlace(places, `"\${(@)words[2,CURRENT-1]}"`, `\${words[CURRENT-1]}`)}
  compadd -- \${=next}
  _files
}
compdef _bandolier bandolier
`;
}

function fish(places: readonly Place[]): string {
  const quoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;
  const lines = places.flatMap(({ path, commands, options, choices, values }) => {
    const words = path.split(' ').filter((word) => word !== '');
    const seen = words.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ');
    const not = commands.map(({ name }) => name).join(' ');
    const here = seen === '' ? '__fish_use_subcommand' : seen;
    const first =
      commands.length === 0 || seen === '' ? here : `${seen}; and not __fish_seen_subcommand_from ${not}`;
    return [
      ...commands.map(
        ({ name, description }) =>
          `complete -c bandolier -n ${quoted(first)} -a ${name} -d ${quoted(description)}`,
      ),
      ...choices.map((choice) => `complete -c bandolier -n ${quoted(here)} -a ${choice}`),
      ...options.map((option) => {
        const some = values[option] === undefined ? '' : ` -x -a ${quoted(values[option].join(' '))}`;
        return `complete -c bandolier -n ${quoted(here)} -l ${option.slice(2)}${some}`;
      }),
    ];
  });
  return `${lines.join('\n')}\n`;
}
