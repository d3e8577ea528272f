import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { cleanEnvironment, mainFile } from '../e2e/running-service.ts';

const run = (shell: string) =>
  spawnSync(process.execPath, [mainFile, 'completion', shell], { encoding: 'utf8', env: cleanEnvironment() });

const SCRIPTS = Object.fromEntries(['bash', 'zsh', 'fish'].map((shell) => [shell, run(shell).stdout]));

/** What bash offers when the tab key is pressed after these words. */
function offered(...words: string[]): string[] {
  const typed = words.map((word) => `'${word}'`).join(' ');
  const press = `COMP_WORDS=(bandolier ${typed}); COMP_CWORD=${words.length}; _bandolier; printf '%s\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', `${SCRIPTS.bash}\n${press}`], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  return stdout.trim().split('\n');
}

it('completes commands, their commands, and options in bash', () => {
  expect(offered('exp')).toEqual(
    ['explain', 'export', 'experiment'].filter((name) => name.startsWith('exp')),
  );
  expect(offered('experiment', 're')).toEqual(['report']);
  expect(offered('experiment', 'report', '--j')).toEqual(['--json']);
  expect(offered('import', 'tools.json', '--dry')).toEqual(['--dry-run']);
  expect(offered('decisions', '--out')).toEqual(['--outcome']);
});

it('completes what options and arguments may be', () => {
  expect(offered('stats', '--order', 'w')).toEqual(['worst']);
  expect(offered('decisions', '--outcome', 'not')).toEqual(['not_used']);
  expect(offered('completion', 'f')).toEqual(['fish']);
  expect(SCRIPTS.fish).toMatch(/-l order -x -a 'called shown best worst timeouts'/);
});

it('is there for zsh and fish, and refuses other shells', () => {
  expect(SCRIPTS.zsh).toMatch(/^#compdef bandolier/);
  expect(SCRIPTS.zsh).toContain('compadd');
  const fish = SCRIPTS.fish;
  expect(fish).toMatch(/^complete -c bandolier -n '__fish_use_subcommand' -a import -d 'put the tools/m);
  expect(fish).toMatch(
    /__fish_seen_subcommand_from experiment; and __fish_seen_subcommand_from report' -l json/,
  );
  for (const [shell, options] of [
    ['zsh', ['-n']],
    ['fish', ['--no-execute']],
  ] as const) {
    const checked = spawnSync(shell, [...options, '/dev/stdin'], { input: SCRIPTS[shell] });
    if (checked.error === undefined) expect(checked.status).toBe(0);
  }
  const other = run('powershell');
  expect([other.status, other.stderr]).toEqual([
    1,
    expect.stringMatching(/Allowed choices are bash, zsh, fish/),
  ]);
});
