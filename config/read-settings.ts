import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { nearestName } from './nearest-name.ts';
import { plainWords } from './plain-words.ts';
import { SECRET_PREFIX } from './secrets.ts';
import {
  environmentVariable,
  type SettingName,
  type Settings,
  settingNames,
  settingsSchema,
} from './settings.ts';

export const CONFIG_FILE = 'bandolier.config.json';

/** What `model` may say other than a folder. */
const MODEL_NAMES: readonly string[] = ['bundled', 'none', 'endpoint'];

export type SettingSource = 'default' | 'file' | 'environment' | 'flag';

/** Settings, and where each of them came from. */
export interface SourcedSettings {
  readonly settings: Settings;
  readonly sources: Readonly<Record<SettingName, SettingSource>>;
}

/** Something is wrong with the settings: one sentence per fault, each saying how to mend it. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.faults = faults;
  }
}

export interface SettingsInput {
  /** Defaults to the environment of this process; nothing else in the project reads it. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Where relative paths start and where the configuration file is looked for. Default: the working directory. */
  readonly folder?: string;
  /** Options of the command line, as typed. They win over everything else. */
  readonly flags?: Partial<Readonly<Record<SettingName, string>>>;
}

interface Given {
  readonly value: unknown;
  readonly source: SettingSource;
  /** What the user has to look at: `port in bandolier.config.json`. */
  readonly place: string;
}

/**
 * Default < file < environment < flag.
 * @throws SettingsError with every fault found, not just the first.
 */
export function readSettings(input: SettingsInput = {}): SourcedSettings {
  const folder = resolve(input.folder ?? '.');
  const faults: string[] = [];
  const given = new Map<SettingName, Given>([
    ...fromFile(resolve(folder, CONFIG_FILE), faults),
    ...fromEnvironment(input.environment ?? process.env, faults),
    ...fromFlags(input.flags ?? {}),
  ]);

  const parsed = settingsSchema.safeParse(
    Object.fromEntries([...given].map(([name, { value }]) => [name, value])),
    { error: plainWords },
  );
  for (const issue of parsed.error?.issues ?? []) {
    const place = given.get(issue.path[0] as SettingName)?.place ?? issue.path.join('.');
    faults.push(`${place}: ${issue.message}.`);
  }
  if (!parsed.success || faults.length > 0) throw new SettingsError(faults);

  const sources = settingNames.map((name) => [name, given.get(name)?.source ?? 'default']);
  const model = parsed.data.model;
  return {
    settings: {
      ...parsed.data,
      dataDir: resolve(folder, parsed.data.dataDir),
      model: MODEL_NAMES.includes(model) ? model : resolve(folder, model),
    },
    sources: Object.fromEntries(sources) as Record<SettingName, SettingSource>,
  };
}

function fromFile(path: string, faults: string[]): [SettingName, Given][] {
  const text = readIfThere(path);
  if (text === null) return [];
  const file = parseObject(text);
  if (file === null) {
    faults.push(`${path} is not a JSON object. Write settings as {"port": 9000}, or delete the file.`);
    return [];
  }
  const given: [SettingName, Given][] = [];
  for (const [name, value] of Object.entries(file)) {
    if (isSettingName(name)) given.push([name, { value, source: 'file', place: `${name} in ${path}` }]);
    else
      faults.push(`${path} has an unknown key "${name}". Did you mean "${nearestName(name, settingNames)}"?`);
  }
  return given;
}

function fromEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  faults: string[],
): [SettingName, Given][] {
  const names = new Map(settingNames.map((name) => [environmentVariable(name), name]));
  const given: [SettingName, Given][] = [];
  for (const [variable, text] of Object.entries(environment)) {
    const name = names.get(variable);
    if (name !== undefined && text !== undefined && text !== '') {
      given.push([name, { value: fromText(name, text), source: 'environment', place: variable }]);
    } else if (
      name === undefined &&
      variable.startsWith('BANDOLIER_') &&
      !variable.startsWith(SECRET_PREFIX)
    ) {
      const nearest = nearestName(variable, [...names.keys()]);
      faults.push(`The environment has an unknown variable ${variable}. Did you mean ${nearest}?`);
    }
  }
  return given;
}

function fromFlags(flags: Partial<Readonly<Record<SettingName, string>>>): [SettingName, Given][] {
  return settingNames.flatMap((name) => {
    const text = flags[name];
    if (text === undefined) return [];
    return [
      [
        name,
        {
          value: fromText(name, text),
          source: 'flag',
          place: `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
        },
      ] as const,
    ];
  }) as [SettingName, Given][];
}

/** Numbers are typed as text in the environment; anything that is no number is left for the schema to refuse. */
function fromText(name: SettingName, text: string): unknown {
  const { type } = z.toJSONSchema(settingsSchema.shape[name], { io: 'input' });
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  const isNumber = type === 'integer';
  return isNumber && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

function isSettingName(name: string): name is SettingName {
  return (settingNames as string[]).includes(name);
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new SettingsError([`${path} cannot be read: ${(error as Error).message}.`]);
  }
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}
