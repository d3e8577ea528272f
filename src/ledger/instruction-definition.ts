/** In the order in which a prompt has them. */
export const INSTRUCTION_KINDS = ['safety', 'role', 'policy', 'style', 'exemplar'] as const;
export type InstructionKind = (typeof INSTRUCTION_KINDS)[number];

/** Only approved instructions are served. */
export const INSTRUCTION_STATUSES = ['draft', 'approved'] as const;
export type InstructionStatus = (typeof INSTRUCTION_STATUSES)[number];

export const DEFAULT_INSTRUCTION_KIND: InstructionKind = 'policy';
export const DEFAULT_PRIORITY = 50;

/** How long the text of an instruction may be, in characters. */
export const MAX_INSTRUCTION_TEXT = 16 * 1024;

/** How many others an instruction may bring with it: what it includes, what that includes, and so on. */
export const MAX_INCLUDED = 16;

/** A unit of a system prompt, as users put it. Fixed wire shape. */
export interface InstructionDefinition {
  readonly id: string;
  readonly text: string;
  /** `safety` ones are in every prompt; the others are chosen for each query. */
  readonly kind: InstructionKind;
  /** 0…100; of those that are served the highest stands first. */
  readonly priority: number;
  readonly domain?: string;
  readonly tags?: readonly string[];
  /** Ids of instructions that it does not make sense without: they come with it. Never in a circle, and never more than `MAX_INCLUDED`. */
  readonly includes?: readonly string[];
  readonly status: InstructionStatus;
}

/** The same as it is put: without a status, what was approved and did not change stays approved, and everything else is a draft. */
export type InstructionDraft = Omit<InstructionDefinition, 'status'> & {
  readonly status?: InstructionStatus;
};
