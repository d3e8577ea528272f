import { describe, expect, it } from 'vitest';
import { withoutSecrets } from '../../src/transcripts/without-secrets.ts';

/** Made up in the shapes of real ones; what stands between « and » has to go, and nothing else. */
const SECRETS = [
  'use «ghp_16C7e42F292c6912E7710c838347Ae178B4a» for it',
  '«github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789ABCDEFGH» is mine',
  'gitlab takes «glpat-Zx9Kq2LmN8vTr4WsYb7D» today',
  'deploy with «AKIAIOSFODNN7EXAMPLE1» in the cloud',
  'aws_secret_access_key = «wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY» in the file',
  'wJ is no key, «wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY» is one',
  'ask with «sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z» please',
  'ask with «sk-ant-api03-Qw3rTy_uIoP-asDfGhJkL0zXcVbNm» please',
  `charge with «sk_${'live'}_4eC39HqLyjWDarjtT1zdp7dc» now`,
  `charge with «rk_${'test'}_51Habcdefghijklmnop» now`,
  'hooks are signed by «whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw» here',
  'post as «xoxb-1234567890-abcdefghijkl» to the channel',
  'maps need «AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY» in the page',
  'refresh «ya29.a0AfH6SMBx3kQ9vLpT2» first',
  'publish with «npm_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8» to it',
  'pull with «hf_AbCdEfGhIjKlMnOpQrStUvWxYz» from there',
  'send by «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» mails',
  'log in with «eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U» then',
  'Authorization: Bearer «abc.def-ghi_jkl012» of the request',
  'Authorization: Basic «dXNlcjpwYXNzd29yZA==» of the request',
  'curl -H "X-Api-Key: «tH1sIsMyKey99»" there',
  'the password: «correcthorse9» is old',
  'the password: «swordfish» is old',
  'log in, password=«hunter2», and look',
  '{"user": "ada", "password": «"Tr0ub4dor&3"»}',
  '{"user": "ada", "password": «"correct horse battery staple"»}',
  String.raw`{\"token\": \"«q7w8e9r0t1y2»\"}`,
  'the password is «Blaubeer!42» for now',
  'my token is «q7w8e9r0t1y2» for now',
  'the bearer token «q7w8e9r0t1y2» works',
  'DB_PASSWORD=«swordfish» in the environment',
  'export OPENAI_API_KEY=«abcdefghijkl» before',
  'client_secret: «GOCSPX-a1b2c3d4e5f6» of the app',
  'access_token=«2YotnFZFEjr1zCsicMWpAA» in the answer',
  'get https://example.com/x?token=«zzTop12345»&y=1 again',
  'postgres://shop:«s3cr3tpw»@db/orders is down',
  'redis://:«p4ssw0rd»@cache:6379 is down',
  'the key «c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00» is old',
  'use «bT8nQ2xV5kL0wR7yJ4mC9sD3fG6hP1zA» for it',
  'fetch /files/«bT8nQ2xV5kL0wR7yJ4mC9sD3fG6hP1zA»/report.pdf again',
  'read «-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----» aloud',
  'read «-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG»',
  // Text in base64 may be a name and a password: nothing tells them apart.
  'decode «SGVsbG8sIHRoaXMgaXMgYSBzZW50ZW5jZSBpbiBiYXNlNjQu» for me',
];

const NO_SECRETS = [
  'Reset the password for my account please',
  'The password dialogue is broken',
  'explain authorization middleware to me',
  'add an authorization endpoint to the service',
  'what is a bearer instrument in finance',
  'count the token frequencies of this file',
  'token classification with transformers',
  'token: classification',
  'a secret santa generator for my friends',
  'show the api key documentation',
  'The secret ingredients of the recipe',
  'sort by the primary key, then by keyword',
  'keyboard shortcuts for monkeys in Turkey',
  'Why does passwd complain about permissions?',
  'the token limit is exceeded again',
  'the password is required and too short',
  'password: required, token: optional',
  'The password: it has to be longer',
  'basic authentication or digest?',
  'Look at commit 5a6f388 and 2345549',
  'revert 5a6f388d0c1b2e3f4a5b6c7d8e9f0a1b2c3d4e5f',
  'https://github.com/acme/widgets/commit/5a6f388d0c1b2e3f4a5b6c7d8e9f0a1b2c3d4e5f breaks it',
  'see order 123e4567-e89b-12d3-a456-426614174000 again',
  'see order 9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d again',
  'open src/transcripts/read-transcripts.test.ts/fixtures/2026/ours.jsonl',
  'run tests/e2e/experiment-bad-input.test.ts and tests/mcp/stdio-bridge.test.ts',
  'the file /home/ada/projects/shop2/src/outgoing/mcp/sdk-connection.ts is long',
  'https://github.com/acme/widgets/blob/main/packages/core2/src/index.ts',
  'read docs/decisions/2026-11-22-evidence-never-counts-against.md',
  'the branch feature/JIRA-1234-add-payment-provider-for-customers',
  'image registry.example.com/team/service:2026.11.22-build-1234',
  'search mail_search_all_mailboxes_of_customers_v2_beta',
  'the env BANDOLIER_ALLOW_PRIVATE_HOSTS_2 for the service',
  'supercalifragilisticexpialidocious and Donaudampfschifffahrtsgesellschaft',
  'the text aGVsbG8gd29ybGQ= is hello world in base64',
  'task-2026-11-22-refund-of-the-customer-and-his-order',
  'sk-learn-is-a-library-for-machine-learning',
  'npm-check-updates-and-more-tools',
  'hf-transformers-and-datasets tutorial',
  'pk-and-fk-relationships-in-databases explained',
  'npm.io.packages.for.the.browser',
  'asia-southeast-region-of-the-cloud please',
  'hfsplusfilesystemdriver crashes',
  'skateboarding-competitions-in-town',
  'pkg-config-and-its-many-options',
  'Refund order 8812 of 2026-11-20',
  'http://localhost:8787/docs answers 404',
  'mail ada@example.com about https://example.com:443/a@b',
  'isin DE0007164600 and iban DE89 3704 0044 0532 0130 00',
  'the bearer presented himself',
  'convert 2026-11-22T19:24:59.123Z to Berlin time',
  'arxiv.org/abs/2010.12345v2 and doi 10.1145/3292500.3330701',
  'set max_tokens=4096 and temperature=0.2',
  'tokenizer.json has 32000 tokens',
  'AuthorizationException in AuthorizationServerConfiguration2Test.java',
  'com.example.payments.v2.RefundRequestValidatorImplementation',
  'x-amz-server-side-encryption-customer-algorithm-2',
  'secretary problems and passwordless logins',
];

const words = (text: string): string => text.replace(/\s+/g, ' ').trim();

describe('withoutSecrets', () => {
  it.each(SECRETS)('leaves the secret of %s out, and nothing else', (marked) => {
    const text = marked.replace(/[«»]/g, '');
    expect(words(withoutSecrets(text))).toBe(words(marked.replace(/«[^»]*»/, ' ')));
  });

  it.each(NO_SECRETS)('leaves %s as it is', (text) => {
    expect(withoutSecrets(text)).toBe(text);
  });

  it('takes no long time for any text', () => {
    for (const sign of [
      'a',
      'a1',
      'aA',
      '-',
      ':',
      '=',
      '"',
      'password ',
      'token is ',
      'password:',
      '://a',
      'eyJ',
      'sk-',
    ])
      withoutSecrets(sign.repeat(100_000));
  });
});
