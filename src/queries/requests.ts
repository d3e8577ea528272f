import { QUOTED } from './quotations.ts';

/*
 * Recognises English clauses that ask for something, by how they begin. All patterns are matched against lower-case text with
 * quotations blanked. Text in other languages is known by having none of these clauses and no English function word; there
 * structure alone decides: sentences, lines, items of lists, and what connects two steps.
 */

const anyOf = (words: string): string => `(?:${words.trim().split(/\s+/).join('|')})`;
/** Not in the middle of a word. */
const END = "(?![a-z0-9'’-])";

/** A clause that begins with one of these asks for something. */
const VERBS = anyOf(`
  accept access acknowledge activate add adjust analyse analyze append apply arrange ask assess assign attach
  authenticate bring calculate cancel capture categorise categorize choose classify clone collect combine
  compare compile compose compute configure confirm connect convert create deactivate debug decline decode
  decrypt delete deliver deploy describe detect determine develop diagnose disable discover display divide
  download draw drop edit embed enable encrypt enrol enroll ensure enter estimate evaluate examine execute
  explain explore export express extract fetch figure fill filter find fix forecast forward gather generate get
  give help identify implement import improve include inform insert inspect install integrate introduce
  investigate invite keep launch learn let look lower make manage measure merge modify monitor move multiply
  mute notify obtain open optimise optimize organise organize perform pick play post predict prep prepare
  present prevent print process provide publish pull purchase put raise read reassign recommend record reduce
  refer refresh register reject remind remove rename reopen replace reply reschedule resend reserve reset resize
  resolve restart restore retrieve return reveal revert revoke roll save say scan see select sell send share
  simulate solve sort specify squash start stop store submit subscribe subtract suggest summarise summarize
  switch sync take tell terminate test throw tidy track transcribe transfer translate trash turn undo unlock
  unsubscribe update upgrade upload use validate verify view visualise visualize write
`);
/** These are nouns as often: they ask only if a word follows that can follow a verb. */
const VERBS_OR_NOUNS = anyOf(`
  alert answer approve archive arm assist audit back ban bill block book browse bump buy call change charge
  check claim clean clear close command comment commit copy count crop cut design dim document draft email fight
  file fine flag fold grant hand hire hold invoice issue land link list load lock log mail mark message migrate
  name note offer order pack page pay phone pin ping plan plot program push query quit quote rate refund remark
  rent report request research review ring route run schedule score search set ship show sign split stage stream
  structure study tag text ticket top transport trigger tweet watch work zip
`);
const AFTER_A_VERB = anyOf(`
  the a an my our your their his her its me us it them him this that these those all any some each every both up out off
  down whether if what who when how where which new another one two three four five six seven eight nine ten
`);
const OBJECT = `(?:${AFTER_A_VERB}${END}|["'“‘«#@$€£0-9${QUOTED}])`;
const PHRASAL_VERBS = '(?:search|check|ask) for|(?:check|report|comment|work) on|log in|listen to';
const AUXILIARIES = anyOf(
  'can could will would should shall may might is are am was were do does did has have',
);
const SUBJECT = anyOf(
  'you i we it there he she they the my our this that these any anyone anybody someone somebody',
);
const WISH = anyOf('need want wish like love require must wanna request prefer');

/** Words that may precede a request, also several of them. */
const LEAD_IN_WORDS = anyOf(`
  and but so then also plus or please pls plz kindly now next first firstly second secondly third thirdly finally
  lastly last additionally furthermore moreover besides afterwards afterward later again hi hello hey ok okay yes no
  well just maybe perhaps instead meanwhile subsequently simultaneously thanks
`);
const LEAD_IN_PHRASES =
  'as well as|in addition|on top of that|at the same time|after (?:that|this|which)|if (?:so|not|possible|needed|necessary)';
const LEAD_IN = `\\s*(?:(?:(?:${LEAD_IN_WORDS}|${LEAD_IN_PHRASES})${END}[,:]?|[-*•–—]|\\(?\\d{1,2}[.)])\\s*)*`;

const QUESTION = `(?:(?:what|how|why|what's|how's|who's|where's|when's)${END}(?! to\\b)|(?:who|whom|whose|when|where|which)\\s+${AUXILIARIES}${END})`;
const BEGINNING = `${LEAD_IN}(?:${[
  `${VERBS}${END}(?! (?:is|are|was|were|has)\\b)`,
  `${VERBS_OR_NOUNS}\\s+${OBJECT}`,
  `(?:${PHRASAL_VERBS})${END}`,
  QUESTION,
  `${AUXILIARIES}(?:n't)?\\s+${SUBJECT}${END}`,
  `(?:i|we)(?:['’]d| would| will|['’]ll)?(?: also| really| just| then| now| next)*(?: \\w+ly)? (?:${WISH}|have to|got to|plan to)${END}`,
  `(?:i|we)(?:['’]m|['’]re| am| are)(?: also| now)* (?:looking for|interested in|trying to|hoping to|seeking|searching for|wondering)`,
  `let(?:['’]s| us| me)${END}`,
].join('|')})`;
const FOREIGN_CONJUNCTIONS = 'und|sowie|y|e|et|и|a|en';
const FOREIGN_SEQUENCES =
  'dann|danach|anschließend|außerdem|ferner|luego|después|despues|además|ademas|también|puis|ensuite|aussi|poi|inoltre|depois|também|потом|затем|также';
const REQUEST = new RegExp(`^${BEGINNING}`);
const INSIDE =
  /[?？؟]\s*$|\bplease\b|\b(?:can|could|would|will) you\b|\b(?:i|we)(?:['’]d| would)?(?: also)? (?:need|want|like to|wish|love to)\b/;
const SUBORDINATE = new RegExp(
  `^${LEAD_IN}${anyOf(`
    if when whenever once after before while since as because for given using with without based considering regarding
    in on at by from to during until unless although though assuming suppose following upon
  `)}${END}`,
);
const RELATIVE = new RegExp(`^\\s*${anyOf('what how why who whom whose when where which')}${END}`);

/** Returns whether a clause begins a request. */
export function beginsRequest(clause: string): boolean {
  return REQUEST.test(clause);
}

/** Returns whether a sentence asks for something, at its beginning or later. */
export function hasRequest(sentence: string): boolean {
  return REQUEST.test(sentence) || INSIDE.test(sentence);
}

const ENGLISH =
  /\b(?:the|and|of|to|is|are|was|my|your|our|what|how|when|why|who|with|for|from|this|that|it|its|you|please|can|could|i|we|he|she|they|then|all|not|into|by|at)\b/;

const FOREIGN =
  /[^\P{L}a-z]|\b(?:der|die|das|den|dem|und|ist|ein|eine|einen|mit|nicht|ich|bitte|von|zu|für|auf|el|la|los|las|un|una|de|del|que|y|por|con|para|mi|su|le|les|des|et|est|une|pour|avec|je|il|di|che|per|non|het|een|van|voor|ik|os|uma|com|em|do|da)\b/gu;
/** A name may have one of them: “Ana de la Cruz” is no language, nor is a number. */
const FOREIGN_SIGNS = 3;

/** Returns whether a lower-case text looks as if it was written in another language than English. */
export function isForeign(text: string): boolean {
  if (ENGLISH.test(text) || REQUEST.test(text)) return false;
  let signs = 0;
  for (const [sign] of text.matchAll(FOREIGN)) {
    // Letters of other scripts leave no doubt; accents occur in names.
    if (sign.length === 1 && !/[\p{Script=Latin}]/u.test(sign)) return true;
    if (++signs === FOREIGN_SIGNS) return true;
  }
  return signs > 0 && signs * 4 >= text.split(/\s+/).length;
}

/**
 * What connects two steps in other languages: a comma and a conjunction, an adverb of sequence, a Japanese te-form and a
 * comma. A match begins where a run of spaces begins, or the time would grow with the square of its length.
 */
export const FOREIGN_CONNECTION = new RegExp(
  [
    `,\\s+(?:${FOREIGN_CONJUNCTIONS})(?=\\s)`,
    `(?:(?:,|(?<!\\s))\\s+(?:und|y|et|e|i|и)|,)\\s+(?:${FOREIGN_SEQUENCES})(?=\\s)`,
    '[，,、;；]\\s*(?:然后|再|并且|并|还有|另外|顺便|同时|接着|そして|それから|また|あと|그리고)',
    '(?<=[てで])、',
  ].join('|'),
  'g',
);

/** Returns whether a clause says when, why or with what something else is to be done. */
export function isSubordinate(clause: string): boolean {
  return SUBORDINATE.test(clause);
}

/** Returns whether a clause may explain a word before it instead of asking: “circles, where the first …”. */
export function mayBeRelative(clause: string): boolean {
  return RELATIVE.test(clause);
}
