import { stem } from '../retrieval/stemmer.ts';

/**
 * The words that the rules know. Every group is one line; the first word of a group of synonyms stands for it. Groups hold only what
 * can be exchanged in nearly every tool: a synonym too many merges what is not the same, one too few only misses a merge.
 */
const SYNONYMS = `
get retrieve fetch obtain return lookup view show read access provide display retrieval
find search discover finder
list enumerate
calculate compute determine calc calculator calculation computation computing
check verify
create add make
update edit modify change alter revise
delete remove erase
run execute perform invoke
convert conversion converter
buy purchase
book reserve reservation booking
generate produce generation generator
validate validator validation
grade grader
detect detection detector
encrypt encryption
decrypt decryption
classify classifier classification
extract extraction extractor
compress compression
track tracker tracking
analyze analyse analysis analyzer analytic
predict prediction forecast
translate translation translator
summarize summarise summary summarizer
register enroll
subscribe subscription
recommend suggest recommendation suggestion
send sending
schedule scheduling timetable
number integer num
image picture photo photograph
movie film
song track
email mail
phone telephone
price cost
employee staff
company firm corporation
repository repo
document doc
folder directory dir
database db
message msg
configuration config
parameter param
environment env
source src origin
destination dst dest
language lang
latitude lat
longitude lon lng
address addr
password pwd
organization organisation org
department dept
quantity qty
maximum max
minimum min
average mean avg
location place city town
start begin
end finish
duration period
identifier id
color colour
statistic stat
mathematics math maths
restaurant eatery
trip journey
lawyer attorney
doctor physician
physician practitioner
apartment flat
ranking rank
probability odds chance
people population
argument arg
temperature temp
application app
favorite favourite
center centre
license licence
catalog catalogue
`;

/** Says nothing about what a tool does. */
const EMPTY =
  'a an and are as at be been by can do does for from i in is it its me my need no of on or please s that the this to want with ' +
  'would you your functionality tool api method endpoint utility helper allow allows enable enables ' +
  'given give specific specified particular certain provided supplied based using via various which when where whether ' +
  'existing new their his her they them these those there if into onto about within according along between among out up ' +
  'information info detail details data result results value values one two desired required requested input output related ' +
  'relevant against toward towards upon while since thus so too well both either here may could should must might shall ' +
  'was were being had having does did per we he she itself themselves etc therefore however such other another also will has have it’s t able help helps per across over under given whose who what how';

/** Says nothing in a sentence, but tells things apart in a name. */
const EMPTY_IN_SENTENCES =
  'use used function service services operation command item items object objects record records entry entries user users customer person individual somebody someone order through ' +
  'place get find list calculate check run create make perform return returns get';

/** Says a little: one of these on one side alone does not keep tools apart, two do. */
const SOFT = 'current currently name full simple online directly easily quickly basic general standard';

/** The same in a sentence, while it counts in a name. */
const SOFT_IN_SENTENCES =
  'number identifier type list time year date amount location system option optional return content text status whether ' +
  'different any some more row condition sequence series host all every each string array function formula ' +
  'method algorithm equation process support response request produced caused contained located belonging associated called known ' +
  'passed stored defined money level including includes real world multiple several respective corresponding ' +
  'detailed complete whole entire comprehensive actual exact accurate precise efficient powerful advanced mathematical ' +
  'web internet network page site website platform software program content body message line element instance feature property ' +
  'attribute field title overview description structure format form collection table figure measure measurement ratio factor ' +
  'theorem law principle rule model technique approach side length size dimension degree expression solution outcome term word';

/** What names of fields of knowledge and of kinds of software say where they stand before the name of a tool. */
const FIELDS =
  'math number theory geometry algebra calculus arithmetic statistic finance financial physics chemistry biology history sport ' +
  'util tool api service lib library helper manager client server calculator function common core main default mcp us';

/** Words of one line exclude each other: a tool of one of them is none of another. */
const CONTRASTS = `
celsius fahrenheit kelvin
kilometer mile nautical
kilogram pound ounce stone
meter foot inch yard
liter gallon pint
minute hour second millisecond
byte bit
metric imperial
email sms push fax call voicemail slack letter
start stop
open close
lock unlock
enable disable
activate deactivate
mute unmute
follow unfollow
like unlike dislike
subscribe unsubscribe
block unblock
ban unban
pin unpin
archive unarchive delete
publish unpublish
assign unassign
mount unmount
install uninstall
freeze unfreeze
encode decode
encrypt decrypt
compress decompress
serialize deserialize
upload download
import export
buy sell
deposit withdraw
borrow lend return
send receive
incoming outgoing
inbound outbound
inbox sent draft trash spam
credit debit
maximum minimum
first last
oldest newest
earliest latest
ascending descending
sunrise sunset
sine cosine tangent
average median mode variance
sum product difference quotient
area perimeter circumference volume
circle triangle rectangle square trapezoid sphere cylinder cone cube ellipse
historical forecast predict
past future upcoming present
daily weekly monthly quarterly annual hourly
monday tuesday wednesday thursday friday saturday sunday
compound simple
income expense
asset liability
public private
internal external
read unread
active inactive archived
approved rejected pending
approve reject
accept decline
increase decrease
push pull clone
commit revert
merge split
attach detach
connect disconnect
join leave
login logout
signin signout
left right
up down
row column
horizontal vertical
front back
male female
home away
systolic diastolic
kinetic potential
adult child
buyer seller
sender recipient receiver
follower following
parent child
manager employee
departure arrival
domestic international
one-way round-trip
personal business work
encode hash
preview apply
dry-run apply
validate execute
soft hard
full incremental partial
head tail
before after
gross net
nominal real
real imaginary
linear quadratic cubic exponential
discrete continuous
binomial normal poisson
supervised unsupervised
classification regression clustering
create update delete
draft publish send
plan apply destroy
pause resume stop
increment decrement
lowercase uppercase
plaintext markdown html pdf
csv json xml yaml
`;

/** Of these a word anywhere in a definition counts, also in what is said about parameters and results. */
const UNITS = 'celsius fahrenheit kelvin kilometer mile kilogram pound liter gallon metric imperial';

/** Tools have to agree on all of these. */
const ENVIRONMENTS = 'staging production sandbox development enterprise';

/** For whom or where a server runs, as its name says; a server without such a word may run there or not. */
const SITES = 'test testing live qa uat eu us uk apac emea';

/** Products that keep accounts of their own: what is done in one of them is not done in another. */
const PRODUCTS = `
google gmail gdrive gcal gsuite
outlook microsoft exchange office365 o365 onedrive sharepoint
apple icloud
yahoo
proton protonmail
fastmail
zoho
caldav
calendly
slack
teams
discord
telegram
whatsapp
signal
zoom
webex
twilio
sendgrid
mailgun
mailchimp
github
gitlab
bitbucket
gitea
jira atlassian confluence
linear
asana
trello
clickup
monday
notion
obsidian
evernote
todoist
ticktick
airtable
coda
dropbox
box
s3 aws amazon dynamodb
azure
gcp bigquery gcs
cloudflare
vercel
netlify
heroku
digitalocean
postgres postgresql
mysql mariadb
sqlite
mongodb mongo
redis
elasticsearch opensearch
snowflake
databricks
clickhouse
supabase
firebase
neo4j
qdrant
pinecone
weaviate
chroma
milvus
stripe
paypal
square
adyen
mollie
klarna
quickbooks
xero
shopify
woocommerce
salesforce
pipedrive
close
hubspot
zendesk
intercom
freshdesk
servicenow
pagerduty
opsgenie
datadog
grafana
prometheus
sentry
newrelic
splunk
spotify
deezer
soundcloud
youtube
vimeo
netflix
twitch
tmdb
imdb
twitter
facebook
instagram
linkedin
tiktok
reddit
pinterest
mastodon
bluesky
openweathermap openweather
accuweather
weatherapi
mapbox
openstreetmap osm nominatim
brave
bing
duckduckgo
tavily
exa
perplexity
serpapi
wikipedia
wolfram
arxiv
pubmed
openai
anthropic claude
gemini
huggingface
docker
kubernetes k8s openshift
terraform
jenkins
circleci
figma
canva
miro
wordpress
ghost
contentful
expedia
airbnb
kayak
amadeus
uber
lyft
doordash
yelp
ebay
etsy
binance
coinbase
kraken
alpaca
nasdaq
yfinance
`;

/** What a call with this verb does to what is there; verbs that are in none of them say nothing. */
const EFFECTS = {
  read: 'get find list calculate check compare analyze count predict',
  create: 'create insert upload book buy register schedule',
  update: 'update rename move set replace assign mark',
  delete: 'delete drop purge clear destroy truncate',
  cancel: 'cancel',
  archive: 'archive',
  send: 'send publish broadcast',
} as const;

/** What is more than a change of what is there. */
const DEEDS = {
  destroy: 'delete drop purge clear destroy truncate wipe overwrite erase discard trash',
  cancel: 'cancel terminate revoke void',
  send: 'send publish broadcast notify forward',
  pay: 'pay charge refund transfer buy withdraw deposit',
  'change rights': 'grant revoke share unshare authorize promote ban impersonate',
} as const;

export type Deed = keyof typeof DEEDS;

export type Effect = keyof typeof EFFECTS;

/** Verbs whose calls cannot be taken back, or that others see, beside those with an effect. As they are spelled: `perform` is not `run`. */
const GRAVE =
  'wipe revoke terminate kill shutdown reset overwrite post pay charge refund transfer purchase buy order book reserve sell trade sign ' +
  'deploy merge execute run invoke block ban suspend disable deactivate restart reboot stop notify submit move withdraw deposit ' +
  'upload call reply forward invite push commit rollback revert restore migrate approve reject evict kick mute ' +
  'close lock uninstall install unsubscribe unpublish detach dismiss discard flush';

/** Members of `metadata` and `_meta` that say who may call a tool, and how. */
export const ACCESS_TERMS = [
  'auth',
  'authentication',
  'authorization',
  'security',
  'scopes',
  'scope',
  'permissions',
  'account',
  'environment',
  'method',
] as const;

/** Verbs that may begin the name of a tool, beside those with an effect. */
const VERBS =
  'convert generate translate summarize recommend subscribe run start stop open close play pause resume send share plot draw solve train ' +
  'test build deploy import export download save load submit approve reject merge split sort filter extract parse validate encode ' +
  'decode encrypt decrypt compress log sign join leave invite add apply track monitor report order pay transfer withdraw deposit ' +
  'schedule notify remind call text reply forward copy clone commit push pull lock unlock enable disable follow unfollow like ' +
  'connect disconnect turn adjust control classify detect recognize identify optimize simulate estimate design evaluate assess ' +
  'upgrade install backup restore review rate comment vote post publish unsubscribe ask answer query select write append scan crawl scrape';

const lines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(' '));

const canonical = new Map<string, string>();
for (const group of lines(SYNONYMS)) {
  for (const word of group) if (!canonical.has(stem(word))) canonical.set(stem(word), stem(group[0]));
}

/** Two words that are one, as they are also spelled. */
const PHRASES = new Map(
  Object.entries({
    lookup: 'look up, looks up, looking up',
    todo: 'to do',
    backup: 'back up, backs up',
    email: 'e mail',
    us: 'u s',
    nth: 'n th',
    pr: 'pull request, pull requests',
    timezone: 'time zone, time zones',
    webpage: 'web page, web pages',
    website: 'web site',
    phone: 'phone number, telephone number',
    zipcode: 'zip code, postal code',
    login: 'log in, logs in, sign in',
    logout: 'log out, logs out, sign out',
    register: 'sign up, signs up',
    username: 'user name',
    filename: 'file name',
    dataset: 'data set',
    identifier: 'i d',
    wifi: 'wi fi',
  }).flatMap(([one, phrases]) => phrases.split(', ').map((phrase) => [phrase, one] as const)),
);

/** Joins what is spelled as one word or as two. */
export function joined(words: readonly string[]): string[] {
  const found: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const one = PHRASES.get(`${words[at]} ${words[at + 1]}`);
    found.push(one ?? words[at]);
    if (one !== undefined) at++;
  }
  return found;
}

/** Words that their stem would take for others. */
const EXACT = new Map(
  Object.entries({
    find: 'locate locates locating',
    follower: 'follower followers',
    following: 'following',
    specifications: 'specification specifications spec specs',
    inproduction: 'production prod',
    instaging: 'staging stage',
    indevelopment: 'development dev',
  }).flatMap(([one, words]) => words.split(' ').map((word) => [word, one] as const)),
);

/** Returns the word that stands for all words of the same meaning and inflection. */
export function wordFor(word: string): string {
  const exact = EXACT.get(word);
  if (exact !== undefined) return exact;
  const root = stem(word);
  return canonical.get(root) ?? root;
}

const wordsIn = (text: string) => new Set(text.split(/\s+/).map(wordFor));

const withStems = (text: string) => new Set(text.split(' ').flatMap((word) => [word, wordFor(word)]));

/** Without `get`, which `provided` stands for. */
export const EMPTY_WORDS: ReadonlySet<string> = new Set(
  [...withStems(EMPTY)].filter((word) => word !== wordFor('get')),
);
export const EMPTY_SENTENCE_WORDS: ReadonlySet<string> = withStems(EMPTY_IN_SENTENCES);
export const SOFT_WORDS: ReadonlySet<string> = wordsIn(SOFT);
export const SOFT_SENTENCE_WORDS: ReadonlySet<string> = wordsIn(`${SOFT} ${SOFT_IN_SENTENCES}`);
export const FIELD_WORDS: ReadonlySet<string> = wordsIn(FIELDS);
export const EVERYWHERE_WORDS: ReadonlySet<string> = wordsIn(UNITS);
export const ENVIRONMENT_WORDS: ReadonlySet<string> = wordsIn(ENVIRONMENTS);
export const SITE_WORDS: ReadonlySet<string> = wordsIn(SITES);

/** For a word the numbers of the lines of contrasts that it is in. */
export const CONTRAST_LINES: ReadonlyMap<string, readonly number[]> = (() => {
  const found = new Map<string, number[]>();
  for (const [at, group] of lines(CONTRASTS).entries()) {
    for (const word of group) found.set(wordFor(word), [...(found.get(wordFor(word)) ?? []), at]);
  }
  return found;
})();

/** For a word the product that it names. */
export const PRODUCT_OF: ReadonlyMap<string, string> = new Map(
  lines(PRODUCTS).flatMap((group) => group.map((word) => [word, group[0]] as const)),
);
/** Products whose names are words of other things as well: they count in names of servers alone. */
export const AMBIGUOUS_PRODUCTS: ReadonlySet<string> = new Set(
  'signal teams box square close exchange linear monday ghost brave notion alpaca chroma exa coda apple amazon stripe slack gemini miro docker'.split(
    ' ',
  ),
);

export const EFFECT_OF: ReadonlyMap<string, Effect> = new Map(
  Object.entries(EFFECTS).flatMap(([effect, verbs]) =>
    verbs.split(' ').map((verb) => [wordFor(verb), effect as Effect] as const),
  ),
);
export const DEED_OF: ReadonlyMap<string, readonly Deed[]> = (() => {
  const found = new Map<string, Deed[]>();
  for (const [deed, verbs] of Object.entries(DEEDS)) {
    for (const verb of verbs.split(' ').map(wordFor))
      found.set(verb, [...(found.get(verb) ?? []), deed as Deed]);
  }
  return found;
})();
export const VERB_WORDS: ReadonlySet<string> = new Set([...EFFECT_OF.keys(), ...wordsIn(VERBS)]);

const GRAVE_EFFECTS: readonly (Effect | undefined)[] = ['update', 'delete', 'cancel', 'archive', 'send'];
const GRAVE_STEMS: ReadonlySet<string> = new Set(GRAVE.split(' ').map(stem));

/** Whether what a verb does, in any form, may not be possible to take back, or is seen by others. */
export function isGrave(word: string): boolean {
  return GRAVE_STEMS.has(stem(word)) || GRAVE_EFFECTS.includes(EFFECT_OF.get(wordFor(word)));
}
