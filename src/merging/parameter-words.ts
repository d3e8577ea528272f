import { wordFor } from './rule-judge-words.ts';

const lines = (text: string): string[][] =>
  text
    .trim()
    .split('\n')
    .map((line) => line.split(' '));

/** Names that mean the same wherever the tools do. The words of `wordFor` are known beside them. */
export const SYNONYMS = numbered(`
query q search keyword term text
limit count max top maximum number
offset skip
name title label
identifier key uuid number
url link uri href
path file filepath filename
message body content text
unit units measure
description summary details
lang locale language
data dataset
value val number
side edge
speed velocity
height altitude
favorable success successful
city location place town
ticker symbol
title track song
sql query
text plaintext content
resume cv
timezone tz
list items array
username name login
`);

/** The two sides of what goes from one to the other: words of one side mean the same, of both sides opposites. */
export const SIDES = numbered(`
from source base origin start begin since initial sender old minimum first
to target destination end until finish final recipient receiver new maximum last second
`);

/** Words of one line exclude each other. Those of units may stand in descriptions too, except what is short. */
const UNITS = lines(`
millimeter mm
centimeter centimetre cm
meter metre m
kilometer kilometre km
inch in
foot feet ft
yard yd
mile mi
gram g
kilogram kg
pound lb lbs
ounce oz
millisecond ms
second s sec
minute min
hour hr hrs
day
celsius
fahrenheit
kelvin
degree deg
radian rad
liter litre
milliliter ml
gallon
percent percentage
cent
`);

export const UNIT_OF: ReadonlyMap<string, string> = new Map(
  UNITS.flatMap((names) => names.map((name) => [wordFor(name), names[0]] as const)),
);

export const AXES = new Set(
  ['x', 'y', 'z', 'width', 'height', 'length', 'depth', 'latitude', 'longitude'].map(wordFor),
);

/** What kind of thing a parameter is, where its name says so: an id is no email. Words of one line are one kind. */
export const KINDS: ReadonlyMap<string, string> = new Map(
  lines(`
identifier number key
name title
email
url link
path file
code
phone
date day
time hour
type
year
count
`).flatMap((names) => names.map((name) => [wordFor(name), names[0]] as const)),
);

function numbered(text: string): ReadonlyMap<string, ReadonlySet<number>> {
  const groups = new Map<string, Set<number>>();
  for (const [group, words] of lines(text).entries()) {
    for (const word of words.map(wordFor)) groups.set(word, (groups.get(word) ?? new Set()).add(group));
  }
  return groups;
}
