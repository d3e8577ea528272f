import { Command } from 'commander';
import { pino } from 'pino';
import { startWork } from '../service/work.ts';
import { settingsWith } from './options.ts';
import { UserError, untilInterrupted } from './terminal.ts';

export function workCommand(): Command {
  return new Command('work')
    .description('learn from rewards and make snapshots, for routers that share a Redis')
    .addHelpText(
      'after',
      `
Needs REDIS_URL. Start as many as you like beside any number of \`bandolier serve\`; without Redis, serve does
this work by itself.

Example:
  REDIS_URL=redis://127.0.0.1:6379 bandolier work`,
    )
    .action(work);
}

async function work(): Promise<void> {
  const { settings } = settingsWith();
  if (settings.redisUrl === undefined) {
    throw new UserError('REDIS_URL is not set. Without Redis `bandolier serve` does this work by itself.');
  }
  const log = pino({ level: settings.logLevel }, pino.destination({ fd: 2, sync: true }));
  const running = await startWork(settings, log);
  const interrupted = untilInterrupted();
  process.stdout.write('Working on rewards and snapshots. Ctrl-C stops it.\n');
  await interrupted;
  process.stdout.write('\nFinishing what is in progress. Ctrl-C again stops at once.\n');
  await running.close();
  // While Redis is away BullMQ cannot close its workers, and their timers would go on for ever.
  process.exit(0);
}
