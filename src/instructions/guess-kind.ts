import type { InstructionKind } from '../ledger/instruction-definition.ts';

/** A longer one is a sentence: its beginning is read. */
const LONGEST_HEADING = 200;
/** What headings say for sure. Words that are about the product as often as about the prompt, such as "samples", are not among them. */
const HEADINGS: readonly (readonly [InstructionKind, RegExp])[] = [
  [
    'safety',
    /\b(?:safety|privacy|legal|compliance|confidential(?:ity)?|prohibited|forbidden|guard ?rails?|red lines|security(?! (?:deposits?|guards?|cameras?|questions?|codes?)))\b|^(?:never|do not|must not)\b|\b(?:never|not) do\b/i,
  ],
  [
    'exemplar',
    /\b(?:examples?|(?:few|one|multi).?shots?|demonstrations?|sample (?:conversation|dialog(?:ue)?|exchange|interaction|transcript|chat|call|repl|answer|response|question)\w*)\b|^transcripts?$/i,
  ],
  [
    'style',
    /\b(?:tone|style|formatting|wording|(?:brand|your) voice|how (?:to|you) (?:answer|reply|respond|write|speak|talk|sound)|(?:output|response|answer|reply|message)s? (?:format|style|length|language)|(?:format|length|language) of (?:the |your )?(?:output|response|answer|repl|message)\w*)\b|^(?:voice|format|writing|length)$/i,
  ],
  [
    'role',
    /\b(?:persona|who you are|what you are|about (?:you|yourself)|your (?:role|job|mission|identity|task))\b|^(?:(?:the|my) )?(?:role|identity|mission)(?: (?:and|&) \w+)?$/i,
  ],
];
/** What the text below the headings says. */
const TEXTS: readonly (readonly [InstructionKind, RegExp])[] = [
  [
    'safety',
    /\b(?:never|do not|don't|must not|under no circumstances)\b[^.\n]{0,80}\b(?:passwords?|secrets?|credentials?|personal data|private data|medical|legal advice|weapons?|self.?harm|illegal|card numbers?|system prompt)\b/i,
  ],
  [
    'role',
    /^[^\w\n]{0,9}(?:you(?:['’]re| are| act as| serve as)(?: \p{L}+,)? (?:an?|the)\b|act as (?:an?|the)\b|your (?:name|role|job) is\b)/iu,
  ],
  ['exemplar', /^[^\w\n]{0,9}examples? ?\d*\W{0,3}:/i],
  // A line of somebody alone is no conversation.
  [
    'exemplar',
    /^[^\w\n]{0,9}(?:user|customer|human|guest|q) ?\d*\W{0,3}:.*\n+[^\w\n]{0,9}(?:assistant|agent|bot|ai|you|model|a) ?\d*\W{0,3}:/im,
  ],
  [
    'style',
    /^[^\w\n]{0,9}(?:be (?:brief|short|concise|polite|friendly|warm)\b|keep (?:your |the )?(?:answers?|replies|responses|messages) (?:short|brief|concise|under|below)\b|(?:answer|reply|respond|write) (?:in|with)\b)/i,
  ],
];

/**
 * Guesses what kind of instruction a text in English is: by the nearest heading that says something, where none does by the text itself,
 * then by `last`; else it is `policy`.
 *
 * @param path headings above it, outermost first
 * @param last headings that count where nothing else does
 */
export function guessKind(path: readonly string[], text: string, last: readonly string[]): InstructionKind {
  const byText = TEXTS.find(([, words]) => words.test(text))?.[0];
  return kindByHeadings(path) ?? byText ?? kindByHeadings(last) ?? 'policy';
}

function kindByHeadings(path: readonly string[]): InstructionKind | undefined {
  for (const title of path.toReversed()) {
    const plain = title.slice(0, LONGEST_HEADING).replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '');
    const found = HEADINGS.find(([, words]) => words.test(plain));
    if (found !== undefined) return found[0];
  }
  return undefined;
}
