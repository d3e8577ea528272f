import {
  type AuthProvider,
  auth,
  extractWWWAuthenticateParams,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import type { Authorization, AuthorizedPlace, TokenStore } from './token-store.ts';

/** An access token is renewed when it lasts no longer than this, ms. */
const RENEW_MS = 30_000;

/** What a login adds to tokens that are there already. */
export interface Login {
  /** Where the browser comes back to. */
  readonly redirectUrl: string;
  readonly state: string;
  /** A client that was registered by hand; else we register one. */
  readonly clientId?: string;
  redirect(address: URL): void | Promise<void>;
}

/** The SDK's view of a token store: what it saves goes into the file. Used within the store's lock alone. */
export class StoredAuthorization implements OAuthClientProvider {
  readonly #store: TokenStore;
  readonly #source: string;
  readonly #login: Login | null;
  readonly #now: () => number;
  #verifier = '';
  /** What was found out in this login, which the file takes over when there are tokens. */
  #draft: Authorization = {};

  constructor(store: TokenStore, server: AuthorizedPlace, now: () => number, login: Login | null) {
    this.#store = store;
    this.#source = server.source;
    this.#now = now;
    this.#login = login;
  }

  get redirectUrl(): string {
    // Never empty: without one the SDK would ask for tokens that need no user.
    return this.#login?.redirectUrl ?? 'http://127.0.0.1/callback';
  }

  get clientMetadata(): OAuthClientMetadata {
    return {
      client_name: 'Bandolier',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  state(): string {
    return this.#login?.state ?? '';
  }

  async clientInformation(): Promise<StoredOAuthClientInformation | undefined> {
    if (this.#login === null) return (await this.#authorization()).client;
    // A client that was registered for another port would not be sent back to this one.
    const { clientId } = this.#login;
    return this.#draft.client ?? (clientId === undefined ? undefined : { client_id: clientId });
  }

  saveClientInformation(client: StoredOAuthClientInformation): Promise<void> {
    return this.#save({ client });
  }

  async tokens(): Promise<StoredOAuthTokens | undefined> {
    return this.#login === null ? (await this.#authorization()).tokens : this.#draft.tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    const seconds = tokens.expires_in;
    const { expiresAt: _, ...rest } = this.#draft;
    this.#draft = rest;
    return this.#save({
      tokens,
      ...(seconds === undefined ? {} : { expiresAt: this.#now() + seconds * 1000 }),
    });
  }

  redirectToAuthorization(address: URL): void | Promise<void> {
    if (this.#login === null) throw loginNeeded(this.#source);
    return this.#login.redirect(address);
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  async discoveryState(): Promise<OAuthDiscoveryState | undefined> {
    return this.#login === null ? (await this.#authorization()).discovery : this.#draft.discovery;
  }

  saveDiscoveryState(discovery: OAuthDiscoveryState): Promise<void> {
    return this.#save({ discovery });
  }

  async invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void> {
    if (scope === 'verifier') return;
    const { client, tokens, expiresAt, discovery } = await this.#authorization();
    const keeps = (member: string) => scope !== 'all' && scope !== member;
    this.#draft = {
      ...(client !== undefined && keeps('client') ? { client } : {}),
      ...(tokens !== undefined && keeps('tokens') ? { tokens } : {}),
      ...(expiresAt !== undefined && keeps('tokens') ? { expiresAt } : {}),
      ...(discovery !== undefined && keeps('discovery') ? { discovery } : {}),
    };
    if (this.#login === null) await this.#store.write(this.#draft);
  }

  async #authorization(): Promise<Authorization> {
    if (this.#login !== null) return this.#draft;
    return (await this.#store.read()) ?? {};
  }

  /** A login that is broken off leaves the tokens that were there. */
  async #save(change: Partial<Authorization>): Promise<void> {
    this.#draft = { ...(await this.#authorization()), ...change };
    const isLoginDone = this.#draft.tokens !== undefined;
    if (this.#login === null || isLoginDone) await this.#store.write(this.#draft);
  }
}

/**
 * Tokens for the connections to one source. They are renewed before they end, or when the server refuses them, by one process at a
 * time: authorization servers that give a new refresh token each time take a second use of the old one for theft.
 */
export function authorizationOf(
  store: TokenStore,
  server: AuthorizedPlace,
  fetchFn: typeof fetch,
  now: () => number,
): AuthProvider {
  let used: string | undefined;
  const renew = async (more: { readonly resourceMetadataUrl?: URL; readonly scope?: string }) => {
    const refused = used;
    await store.locked(async () => {
      const stored = await store.read();
      if (stored?.tokens === undefined) throw loginNeeded(server.source);
      // Another process, or another call of this one, was faster.
      if (stored.tokens.access_token !== refused) return;
      const provider = new StoredAuthorization(store, server, now, null);
      const result = await auth(provider, { serverUrl: server.url, fetchFn, ...more });
      if (result !== 'AUTHORIZED') throw loginNeeded(server.source);
    });
    used = (await store.read())?.tokens?.access_token;
  };
  return {
    async token() {
      const stored = await store.read();
      used = stored?.tokens?.access_token;
      const isEnding = stored?.expiresAt !== undefined && stored.expiresAt - now() < RENEW_MS;
      if (isEnding && stored.tokens?.refresh_token !== undefined) await renew({});
      return used;
    },
    async onUnauthorized({ response }) {
      const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response);
      await renew({
        ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
        ...(scope === undefined ? {} : { scope }),
      });
    },
  };
}

function loginNeeded(source: string): UnauthorizedError {
  return new UnauthorizedError(`run \`bandolier sources login ${source}\``);
}
