import { contentWords, wordsOf } from '../retrieval/tokenise.ts';
import { type Turn, turnsOf } from './messages.ts';
import { withoutQuotations } from './quotations.ts';
import { hasRequest, isForeign } from './requests.ts';
import { sentencesOf } from './split-query.ts';

/** The query of a conversation. */
export interface ConversationQuery {
  /** The context that the last user turn needs, that turn, and the agent's thought, if there is one. */
  readonly text: string;
  /** The last user turn alone, which may be split. */
  readonly turn: string;
  /** The last thing that an agent said while it works on the turn: its next step. */
  readonly thought: string | null;
  /** The text that is searched for and remembered: the turn counts double against its context. */
  readonly searched: string;
}

/** Returns a query that is no conversation in the same shape. */
export function plainQuery(query: string): ConversationQuery {
  return { text: query, turn: query, thought: null, searched: query };
}

/** Number of earlier user turns that are read, as long as each of them refers to the one before. */
const MAX_TURNS_BACK = 3;
/** At most so many characters of context are used, so that the turn itself decides. */
const MAX_CONTEXT = 300;
const MAX_RESULT_WORDS = 24;
/** An answer or a thought is read backwards until it has so many words that say something. */
const ENOUGH = 2;

/**
 * Returns the query of a conversation in the shape of OpenAI (Chat Completions, Responses) or Anthropic; null if it has no user
 * turn. Deterministic.
 *
 * A turn that is understood alone is the query. One that is not (“and the other one?”, “yes”, “send it to her”, a bare value
 * that was asked for) is preceded by what it refers to: the turn before it, the question that it answers, or the result that
 * it mentions. While an agent works on the turn, its latest thought is added, because it names the next step. What says
 * nothing about a tool (“Sure!”, “Let me check that for you”) is no thought and no context.
 */
export function conversationQuery(messages: readonly unknown[]): ConversationQuery | null {
  const turns = turnsOf(messages);
  const last = turns.findLastIndex(({ role }) => role === 'user');
  if (last < 0) return null;
  const turn = turns[last].text;
  const context = contextOf(turns, last, MAX_TURNS_BACK);
  const next = turns
    .slice(last + 1)
    .filter(({ role }) => role === 'assistant' || role === 'reasoning')
    .map(({ text }) => ending(text))
    .findLast((said) => said !== '');
  const thought = next ?? null;
  const after = thought === null ? [] : [thought];
  // Twice, so that it counts double: measured in bench/conversation.ts. Of a mere “yes” that is what was offered.
  const emphasis = context.length === 0 ? [] : saysSomething(turn) ? [turn] : context.slice(-1);
  const said = [...context, turn, ...emphasis];
  return {
    text: [...context, turn, ...after].join('\n'),
    turn,
    thought,
    searched: [...(context.length > 0 ? said.map(withoutCourtesies) : said), ...after].join('\n'),
  };
}

/** Returns what a user turn needs from the turns before it, oldest first; nothing if it is understood alone. */
function contextOf(turns: readonly Turn[], at: number, back: number): string[] {
  const { text } = turns[at];
  if (back === 0 || standsAlone(text)) return [];
  const earlier = turns.slice(0, at).findLastIndex(({ role }) => role === 'user');
  const between = turns.slice(earlier + 1, at);
  const before = earlier < 0 ? [] : [...contextOf(turns, earlier, back - 1), clip(turns[earlier].text)];
  const asked = between.filter(({ role }) => role === 'assistant').map((said) => ending(said.text));
  const question = asked.findLast((said) => said !== '');
  if (question !== undefined) return [...before, question];
  const result = between.findLast(({ role }) => role === 'tool');
  return result === undefined ? before : [...before, gist(result.text)];
}

/** A turn with fewer words is no request by itself. */
const TERSE = 3;
/** A turn with so many terms needs no context even if it begins with “and” or contains “it”. */
const EXPLICIT = 8;
/** A turn that asks for nothing is taken for an answer to a question, unless it has so many terms. */
const TELLING = 12;
/** In another language than English a turn with so many words is taken for a whole request. */
const WHOLE = 5;
/** A pronoun after this many terms refers to one of them. */
const REFERENT = 4;
const CONTINUES =
  /^\s*(?:and|also|but|or|then|so|yes|yep|yeah|yup|no|nope|ok|okay|sure|right|exactly|correct|please do|go ahead|do (?:it|that|so)|(?:what|how) about|same|again|instead|more|another)(?![a-z0-9])/i;
const REFERS =
  /(?<![a-z0-9'’])(?:it|its|they|them|their|he|him|his|she|her|hers|this|that|these|those|there|one|ones|same|again|instead|else|former|latter|previous|previously|earlier|above|first|second|last)(?![a-z0-9'’])/i;

/** “Fix the name”: of something that was mentioned. */
const DEFINITE = /(?<![a-z0-9'’])(?:the|both)(?![a-z0-9'’])/i;

function standsAlone(text: string): boolean {
  if (wordsOf(text.slice(0, MAX_CONTEXT)).length < TERSE) return false;
  const terms = contentWords(text);
  if (isForeign(text.toLowerCase())) return terms >= WHOLE;
  if (terms < TELLING && !hasRequest(text.toLowerCase())) return false;
  if (terms >= EXPLICIT) return true;
  const reference = REFERS.exec(text);
  const refersBack = reference !== null && contentWords(text.slice(0, reference.index)) < REFERENT;
  return !refersBack && !CONTINUES.test(text) && (terms >= TERSE || !DEFINITE.test(text));
}

/** A user who says nothing else than these, and words that go with them, asks for no tool. */
const GREETINGS = setOf(`
  hello hi hey hiya howdy greetings welcome bye goodbye cheers thanks thank thx please ok okay okey alright yes yeah yep yup
  no nope nah sure great good cool nice perfect awesome excellent wonderful ahead
  hallo moin servus tschüss danke bitte gerne ja nein guten gute vielen hola gracias adiós sí vale buenos buenas por
  bonjour bonsoir salut merci oui non ciao grazie prego buongiorno olá obrigado obrigada sim não bom boa hej
  привет здравствуйте спасибо пожалуйста да нет 你好 您好 谢谢 好 好的 是的 对 再见 嗯
  こんにちは ありがとう はい いいえ 안녕하세요 감사합니다 네`);
const WITH_GREETINGS = setOf(`
  a afternoon again all day evening everybody everyone for go it lot morning much night now oh so that the then there too
  very well you abend dank dir euch ihnen morgen nacht schön sehr tag días favor muchas noches tardes beaucoup bien sûr
  mille molte dia muito noite tarde 你 您 了 ございます`);

/**
 * Returns whether a text has no words that could ask for a tool: signs of punctuation alone, or only a greeting, thanks or
 * consent. All of it has to be that, so “ok, delete it” is not. Emoji may mean something, and count as words.
 */
export function isWordless(text: string): boolean {
  if (PUNCTUATION.test(text)) return true;
  if (text.length > LONGEST_GREETING) return false;
  const words = wordsOf(text);
  return (
    words.some((word) => GREETINGS.has(word)) &&
    words.every((word) => GREETINGS.has(word) || WITH_GREETINGS.has(word))
  );
}

const PUNCTUATION = /^[\s\p{P}\p{Z}\p{M}\p{Sm}\p{Sc}\p{Sk}\p{Cc}\p{Cf}]*$/u;
const LONGEST_GREETING = 100;

/** Words with which people agree, thank and hesitate, in several languages. */
const COURTESIES = setOf(`
  absolutely ahead all alright am another anything away awesome back bad bit bye care certainly congratulations cool course
  cheers dear definitely done enjoy exactly excellent fine fun glad go going gonna good got great happy hear hello help
  here hey hi hm hmm how idea if immediately interesting into just kind know let ll luck may me minute moment much nice no
  not noted now oh ok okay on one ouch perfect perhaps pity please pleasure pleased problem quick quickly re ready really
  right safe shall should sorry so soon sounds straight sure thank thanks that then there thing think through too
  understand understood up ve very wait want we welcome well what when where which who why will wish wonderful wow yeah yep
  yes you your worry also but did does doing don doesn dont has have having her him his its she he they them these those some
  ja nein bitte gerne danke gut klar sofort natürlich einen ich sí no claro vale gracias momento por favor bueno perfecto
  de acuerdo hazlo adelante oui non merci bien sûr d accord vas sim não obrigado 好 好的 是 是的 对 可以 行 谢谢 请 嗯
  没问题 はい いいえ ええ お願い お願いします 了解 です 承知 し ました ます ください 네 да нет спасибо хорошо`);
/** With these an assistant announces that it will do what was asked. */
const ANNOUNCEMENTS = setOf(`
  again bear check checking evening find finding get getting give happen happens hold look looking morning night say search
  searching second see start starting take tell telling today together try trying schaue prüfe sehe nach busco reviso veo miro`);

function setOf(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/).flatMap(wordsOf));
}

/** Returns the text without courtesies; if there is nothing else, as it is. */
function withoutCourtesies(text: string): string {
  const kept = text.split(/\s+/).filter((word) => wordsOf(word).some((one) => !COURTESIES.has(one)));
  return kept.length === 0 ? text : kept.join(' ');
}

/** Returns whether a text has a word that may say which tool is wanted. */
function saysSomething(text: string): boolean {
  return sayings(text) > 0;
}

function sayings(text: string): number {
  return wordsOf(text.slice(0, MAX_CONTEXT)).filter(
    (word) => !COURTESIES.has(word) && !ANNOUNCEMENTS.has(word) && contentWords(word) > 0,
  ).length;
}

/**
 * Returns the last sentences of an assistant that say something, in which it asks a question or names the next step; empty if
 * none does. “Shall I?” alone does not, so the sentence before it is taken along.
 */
function ending(text: string): string {
  const tail = text.slice(-MAX_CONTEXT);
  const spans = sentencesOf(withoutQuotations(tail));
  let found = 0;
  let from = tail.length;
  for (const [start, end] of spans.slice().reverse()) {
    const says = sayings(tail.slice(start, end));
    if (says > 0) from = start;
    found += says;
    if (found >= ENOUGH) break;
  }
  return tail.slice(from).trim();
}

function clip(text: string): string {
  return text.slice(0, MAX_CONTEXT);
}

/** Returns the first words of a result of any format. */
function gist(result: string): string {
  return wordsOf(result.slice(0, 1_000))
    .filter((word) => !/\d/.test(word))
    .slice(0, MAX_RESULT_WORDS)
    .join(' ');
}
