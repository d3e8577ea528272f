import {
  StorageCorruptError,
  StorageTrimmedError,
  StorageUnavailableError,
} from '../storage/storage-errors.ts';
import { LedgerCorruptError, LedgerTrimmedError, LedgerUnavailableError } from './ledger.ts';

/** Runs something on the store and says its failures as the port has them; the store's own is the `cause`. */
export async function inWordsOfTheLedger<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StorageUnavailableError)
      throw new LedgerUnavailableError(error.message, { cause: error });
    if (error instanceof StorageTrimmedError) throw new LedgerTrimmedError(error.message, { cause: error });
    if (error instanceof StorageCorruptError) throw new LedgerCorruptError(error.message, { cause: error });
    throw error;
  }
}
