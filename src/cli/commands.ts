import type { Command } from 'commander';

/**
 * The commands by name: their arguments and what they do, for the list of them (a test compares that with the commands themselves), and
 * how each is loaded, when it is asked for. All of them take a second to load, for libraries that a list does not need.
 */
export const COMMANDS: Readonly<
  Record<string, readonly [words: string, sentence: string, load: () => Promise<Command>]>
> = {
  serve: ['[options]', 'run the service', async () => (await import('./serve.ts')).serveCommand()],
  work: [
    '',
    'learn from rewards and make snapshots, for routers that share a Redis',
    async () => (await import('./work.ts')).workCommand(),
  ],
  mcp: [
    '[options]',
    'an MCP server over stdio: one for all your tools',
    async () => (await import('./mcp.ts')).mcpCommand(),
  ],
  route: [
    '[options] <query>',
    'ask for the tools that a query needs',
    async () => (await import('./route.ts')).routeCommand(),
  ],
  explain: [
    '[options] <decision>',
    'why were these tools shown?',
    async () => (await import('./explain.ts')).explainCommand(),
  ],
  decisions: [
    '[options]',
    'list what was decided, newest first',
    async () => (await import('./decisions.ts')).decisionsCommand(),
  ],
  stats: ['[options] [tool]', 'how tools have done', async () => (await import('./stats.ts')).statsCommand()],
  health: [
    '[options]',
    'are rewards coming in as they should?',
    async () => (await import('./health.ts')).healthCommand(),
  ],
  report: [
    '[options]',
    'how it is going, on one screen',
    async () => (await import('./report.ts')).reportCommand(),
  ],
  rewards: [
    '',
    'rewards that could not be learned from',
    async () => (await import('./rewards.ts')).rewardsCommand(),
  ],
  import: [
    '[options] <file>',
    'put the tools of a file into a catalog of a running service',
    async () => (await import('./import.ts')).importCommand(),
  ],
  'import-prompt': [
    '[options] <file>',
    'split a system prompt into instructions, and put what changed into a catalog',
    async () => (await import('./import-prompt.ts')).importPromptCommand(),
  ],
  context: [
    '',
    'what users have: show, put, export and erase it',
    async () => (await import('./context.ts')).contextCommand(),
  ],
  instructions: [
    '',
    'show the instructions of a catalog, change, approve and remove them',
    async () => (await import('./instructions.ts')).instructionsCommand(),
  ],
  merges: [
    '',
    'find tools that do the same, and serve them as one',
    async () => (await import('./merges.ts')).mergesCommand(),
  ],
  export: [
    '[options]',
    'write everything that is kept as JSON lines: tools, instructions, decisions, rewards, policies',
    async () => (await import('./export.ts')).exportCommand(),
  ],
  learn: [
    '[options]',
    'teach the memory of a catalog what transcripts say',
    async () => (await import('./learn.ts')).learnCommand(),
  ],
  experiment: [
    '',
    'prove that a change of policy is better',
    async () => (await import('./experiment.ts')).experimentCommand(),
  ],
  evaluate: [
    '[options] <policy...>',
    'what would other policies have earned on the decisions that were logged?',
    async () => (await import('./evaluate.ts')).evaluateCommand(),
  ],
  demo: [
    '[options]',
    'watch it learn: a simulated agent plays 480 queries and reports what became of them',
    async () => (await import('./demo.ts')).demoCommand(),
  ],
  simulate: [
    '[options]',
    'play labelled queries against a policy, in process, and see what learning would bring',
    async () => (await import('./simulate.ts')).simulateCommand(),
  ],
  config: [
    '[options]',
    'print the effective settings and where each comes from',
    async () => (await import('./config.ts')).configCommand(),
  ],
  doctor: [
    '[options]',
    'check that everything the service needs is there, and say what to do where it is not',
    async () => (await import('./doctor.ts')).doctorCommand(),
  ],
  sources: [
    '',
    'show where the tools of a catalog come from, and have more read by themselves',
    async () => (await import('./sources.ts')).sourcesCommand(),
  ],
  catalogs: [
    '',
    'show catalogs, choose which models they use, and delete them',
    async () => (await import('./catalogs.ts')).catalogsCommand(),
  ],
  models: [
    '',
    'fetch embedding models and rerankers',
    async () => (await import('./models.ts')).modelsCommand(),
  ],
  backup: [
    '[options] <folder>',
    'copy everything that is kept into an empty folder',
    async () => (await import('./copy.ts')).backupCommand(),
  ],
  restore: [
    '[options] <folder>',
    'bring a backup into an empty data folder, or into an empty Redis',
    async () => (await import('./copy.ts')).restoreCommand(),
  ],
  migrate: [
    '[options]',
    'move from the data folder to Redis, or back',
    async () => (await import('./copy.ts')).migrateCommand(),
  ],
  repair: [
    '[options] <path>',
    'go on without the damaged part of a log, as the error message told you',
    async () => (await import('./repair.ts')).repairCommand(),
  ],
  completion: [
    '<shell>',
    'print what makes a shell complete the commands and options of bandolier',
    async () => (await import('./completion.ts')).completionCommand(allCommands),
  ],
};

/** Loads all of them, which takes a second. */
export function allCommands(): Promise<Command[]> {
  return Promise.all(Object.values(COMMANDS).map(([, , load]) => load()));
}
