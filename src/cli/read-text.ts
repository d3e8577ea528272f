import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { UserError } from './terminal.ts';

/**
 * Reads a text file, or standard input for `-`: UTF-8, or UTF-16 with a byte order mark, as Windows PowerShell writes it. The mark
 * is left out.
 *
 * @throws UserError
 */
export async function readText(file: string): Promise<string> {
  let bytes: Uint8Array;
  try {
    bytes = file === '-' ? await buffer(process.stdin) : await readFile(file);
  } catch (error) {
    throw new UserError(`${file} cannot be read: ${(error as Error).message}.`);
  }
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
  } catch {
    throw new UserError(`${file} is no text in UTF-8: save it in UTF-8.`);
  }
}

/** Reads a file, or standard input, as `readText` does. @throws UserError also for what is no JSON */
export async function readJson(file: string): Promise<unknown> {
  const text = await readText(file);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UserError(`${file} is no JSON: ${(error as Error).message}.`);
  }
}

function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
}
