import { Command, InvalidArgumentError } from 'commander';
import { truncateLog } from '../storage/log-repair.ts';
import { UserError } from './user-error.ts';

export function repairCommand(): Command {
  return new Command('repair')
    .description('give up the damaged end of a ledger file, as the error message told you')
    .argument('<file>', 'the segment file that the error named')
    .requiredOption('--truncate-at <offset>', 'the byte that the error named', offsetOf)
    .addHelpText(
      'after',
      `
Restoring the file from a backup is better: what follows the offset is lost otherwise. It is put aside beside
the file, not deleted.

Example:
  bandolier repair .bandolier/catalogs/default/ledger/0000000000000001.segment --truncate-at 81920`,
    )
    .action(repair);
}

async function repair(file: string, { truncateAt }: { readonly truncateAt: number }): Promise<void> {
  const { last, cutBytes, setAside } = await truncateLog(file, truncateAt).catch((error: unknown) => {
    if (error instanceof RangeError) throw new UserError(error.message);
    throw error;
  });
  process.stdout.write(`Kept everything up to record ${last}; cut ${cutBytes} bytes.\n`);
  for (const path of setAside) process.stdout.write(`Put aside: ${path}\n`);
}

function offsetOf(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It has to be a number of bytes.');
  return Number(text);
}
