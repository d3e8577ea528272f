import { readFileSync } from 'node:fs';
import { randomFor } from '../../bandit/random.ts';
import type { Task } from './tasks.ts';
import type { BenchTool } from './tool-box.ts';

export interface BenchInstruction {
  readonly id: string;
  readonly kind: 'policy' | 'role' | 'style' | 'safety' | 'exemplar';
  readonly priority: number;
  readonly domain: string;
  readonly text: string;
}

/** The written fragments: `## id | kind | priority | domain`, then the text. */
function readFragments(): BenchInstruction[] {
  const text = readFileSync(new URL('prompt.md', import.meta.url), 'utf8');
  return text
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [head, ...rest] = section.split('\n');
      const [id, kind, priority, domain] = head.split(' | ');
      const body = rest.join('\n').trim();
      return { id, kind: kind as BenchInstruction['kind'], priority: Number(priority), domain, text: body };
    });
}

const OPENINGS = [
  'An employee writes',
  'In the morning somebody asks',
  'A request comes in',
  'A colleague needs help',
];
const CLOSINGS = [
  'Nothing else was changed.',
  'If this is not what was meant, say which record it should have been.',
  'The record was read again afterwards, and it is as intended.',
];
const TOOLS_PER_EXEMPLAR = 3;

/** Worked examples with tools of one domain; seeded, so they are the same in every run. */
function exemplarsOf(domain: string, tools: readonly BenchTool[]): BenchInstruction[] {
  const random = randomFor(`itr/exemplars/${domain}`);
  let draws = 0;
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random.uniform(draws++) * from.length)];
  const exemplars: BenchInstruction[] = [];
  for (let from = 0; from < tools.length; from += TOOLS_PER_EXEMPLAR) {
    const used = tools.slice(from, from + TOOLS_PER_EXEMPLAR);
    const turns = used.map(({ definition, required }) => {
      const given = Object.fromEntries(required.map((name) => [name, `<${name}>`]));
      return [
        `${pick(OPENINGS)} about what "${definition.description.split('.')[0].toLowerCase()}" stands for.`,
        `Call: ${definition.name} ${JSON.stringify(given)}`,
        `Answer: done with ${required.join(' and ')} as they were given. ${pick(CLOSINGS)}`,
      ].join('\n');
    });
    const text = `Worked example.\n${turns.join('\n')}`;
    exemplars.push({ id: `ex-${domain}-${exemplars.length}`, kind: 'exemplar', priority: 20, domain, text });
  }
  return exemplars;
}

/** The whole system prompt in its parts: about 30 pages. */
export function readInstructions(tools: readonly BenchTool[]): BenchInstruction[] {
  const domains = [...new Set(tools.map(({ domain }) => domain))];
  const exemplars = domains.flatMap((domain) => {
    return exemplarsOf(
      domain,
      tools.filter((tool) => tool.domain === domain),
    );
  });
  return [...readFragments(), ...exemplars];
}

/** Returns labels of tasks that name no instruction. */
export function unknownLabels(instructions: readonly BenchInstruction[], tasks: readonly Task[]): string[] {
  const ids = new Set(instructions.map(({ id }) => id));
  const labels = tasks.flatMap(({ hops }) => hops.flatMap((hop) => hop.instructions));
  return [...new Set(labels)].filter((id) => !ids.has(id));
}
