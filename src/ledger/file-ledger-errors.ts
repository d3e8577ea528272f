import {
  StorageCorruptError,
  StorageIncompleteError,
  StorageTrimmedError,
} from '../storage/storage-errors.ts';
import { LedgerCorruptError, LedgerTrimmedError } from './ledger.ts';

/** Runs something on the store and turns the errors of files into those of the port, with the first as `cause`. */
export async function inWordsOfTheLedger<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StorageTrimmedError) throw new LedgerTrimmedError(error.message, { cause: error });
    if (error instanceof StorageCorruptError) throw new LedgerCorruptError(error.message, { cause: error });
    if (error instanceof StorageIncompleteError) {
      const what =
        `${error.message} when the newest snapshot was made of them. Restore the ledger from a backup, or go on from ` +
        `the newest intact snapshot with: bandolier repair "${error.folder}" --from-snapshot`;
      throw new LedgerCorruptError(what, { cause: error });
    }
    throw error;
  }
}
