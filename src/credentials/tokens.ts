// Provides one token for each scope set. Concurrent calls share one request, and processes share tokens through the keychain.

import { ATTEMPT_LIMIT_MS, type CallContext, type Timing } from "../api-client/attempts.ts";
import { responseDate } from "../api-client/classify.ts";
import type { TokenSource } from "../api-client/client.ts";
import { callAgainAdvice } from "../api-client/refusal-advice.ts";
import { ResponseTooLarge, type Transport, TransportError } from "../api-client/transport.ts";
import { withTimeout } from "../core/async.ts";
import { BoundedMap } from "../core/bounded-map.ts";
import { Failure } from "../core/failure.ts";
import { raw, say } from "../core/text.ts";
import type { Identity } from "./identity.ts";
import { scopeKey } from "./login.ts";
import {
  type BasicForm,
  basicForms,
  basicHeader,
  type ClientCredentials,
  invalidTokenResponse,
  isClientRefused,
  parseTokenResponse,
  tokenRequest,
} from "./oauth.ts";
import type { Redactor } from "./redaction.ts";
import type { StoredToken, TokenStore } from "./token-store.ts";

export interface TokenOptions {
  readonly identity: Identity;
  /** Undefined without a keychain: tokens live only as long as the process. */
  readonly store?: TokenStore;
  readonly transport: Transport;
  readonly timing: Timing;
  readonly redactor: Redactor;
}

/** Maximum number of rejected tokens that are remembered, so that a copy from another process does not bring one back. */
const MAX_REFUSED = 100;
const MAX_TOKEN_BYTES = 64 * 1024;
/** After a 403, an older token may have expired; a newer one is assumed to be valid (src/contract/open-questions.md, 27). */
const FRESH_MS = 60_000;
/** If the clock was set back further than this, a stored lifetime is not reliable. */
const CLOCK_STEP_MS = 60_000;

/** A stated lifetime is reduced by 60 s, or by a tenth if it is below 600 s. Without one, a token is valid until it is rejected. */
function isUnexpired({ obtainedAt, expiresAt }: StoredToken, now: number): boolean {
  if (expiresAt === undefined) return true;
  return now >= obtainedAt - CLOCK_STEP_MS && now < expiresAt - Math.min(60_000, (expiresAt - obtainedAt) / 10);
}

function unreachable(error: TransportError): Failure {
  return new Failure(
    {
      kind: "upstream_unavailable",
      at: "token endpoint",
      message: say`The token endpoint could not be reached: ${raw(error.message)}.`,
      retryable: true,
      sideEffect: "none",
      next: callAgainAdvice(1, error.setting),
    },
    { cause: error },
  );
}

/** `proxy`: the variable of the proxy to the token endpoint, if any. */
const timeoutError = (proxy: string | undefined): Failure =>
  new Failure(
    {
      kind: "timeout",
      at: "token endpoint",
      message: say`The token endpoint did not answer in time${proxy !== undefined && say` through the proxy that ${proxy} names`}.`,
      retryable: true,
      sideEffect: "none",
      next: callAgainAdvice(1, proxy),
    },
    { cause: new TransportError("no answer in time", { sent: true, timedOut: true, proxy }) },
  );

export type Tokens = ReturnType<typeof createTokens>;

export function createTokens({ identity, store, transport, timing, redactor }: TokenOptions) {
  const cached = new Map<string, StoredToken>();
  const inFlight = new Map<string, Promise<string>>();
  const refused = new BoundedMap<string, true>(MAX_REFUSED);
  /** The form for which the API has returned a token; the other one is never tried again. */
  let acceptedForm: BasicForm | undefined;
  /** The clock of the token endpoint minus the system clock. */
  let clockDifferenceMs: number | undefined;
  let writes = Promise.resolve();
  let proxy: string | undefined;

  /** Runs keychain writes in order and in the background, so that no call waits for them. */
  function runInBackground(write: () => Promise<void> | undefined): void {
    writes = writes.then(write).catch(() => undefined);
  }

  function formsToTry(credentials: ClientCredentials): readonly [BasicForm, ...BasicForm[]] {
    const forms = basicForms(credentials);
    return acceptedForm !== undefined && forms.includes(acceptedForm) ? [acceptedForm] : forms;
  }

  async function fetchToken(baseUrl: string, credentials: ClientCredentials, scopes: readonly string[]) {
    const requestToken = (form: BasicForm) =>
      transport.exchange(tokenRequest(baseUrl, credentials, form, scopes), {
        maxBytes: MAX_TOKEN_BYTES,
        timeoutMs: ATTEMPT_LIMIT_MS,
        // The request ignores the caller's signal, because other calls may be waiting for the same token.
        signal: new AbortController().signal,
      });
    const [first, second] = formsToTry(credentials);
    proxy = transport.proxyFor(baseUrl);
    try {
      const firstAnswer = await requestToken(first);
      const at = responseDate(firstAnswer.headers);
      if (at !== undefined) clockDifferenceMs = at - timing.now();
      const shouldRetry = second !== undefined && isClientRefused(firstAnswer);
      const token = parseTokenResponse(shouldRetry ? await requestToken(second) : firstAnswer, scopes);
      if (second !== undefined) acceptedForm = shouldRetry ? second : first;
      return token;
    } catch (error) {
      if (error instanceof Failure && error.facts.kind === "unauthorized") identity.invalidateCachedLogin();
      if (error instanceof TransportError) throw unreachable(error);
      throw error instanceof ResponseTooLarge ? invalidTokenResponse(raw(error.message)) : error;
    }
  }

  function cacheToken(scopes: readonly string[], token: StoredToken): string {
    redactor.add(token.value);
    cached.set(scopeKey(scopes), token);
    return token.value;
  }

  /** Returns a token from the keychain if another process has stored one, otherwise from the token endpoint. */
  async function obtain(scopes: readonly string[]): Promise<string> {
    const credentials = await identity.credentials();
    for (const form of basicForms(credentials)) redactor.add(basicHeader(credentials, form).slice("Basic ".length));
    const owner = { baseUrl: await identity.baseUrl(), clientId: credentials.clientId };
    const stored = await store?.load(owner, scopes);
    if (stored && !refused.has(stored.value) && isUnexpired(stored, timing.now())) return cacheToken(scopes, stored);
    const { value, expiresInSeconds } = await fetchToken(owner.baseUrl, credentials, scopes);
    const obtainedAt = timing.now();
    const token: StoredToken = {
      value,
      obtainedAt,
      ...(expiresInSeconds !== undefined && { expiresAt: obtainedAt + expiresInSeconds * 1000 }),
    };
    runInBackground(() => store?.save(owner, scopes, token));
    return cacheToken(scopes, token);
  }

  function obtainShared(scopes: readonly string[]): Promise<string> {
    const key = scopeKey(scopes);
    const running = inFlight.get(key);
    if (running) return running;
    const started = obtain(scopes).finally(() => inFlight.delete(key));
    inFlight.set(key, started);
    return started;
  }

  async function removeFromStore(scopes: readonly string[], token: string): Promise<void> {
    if (!store) return;
    const { clientId } = await identity.credentials();
    await store.remove({ baseUrl: await identity.baseUrl(), clientId }, scopes, token);
  }

  /** Clears the cached tokens if the check of the login fails: after a logout they must not be used. */
  async function confirmLogin(login: Promise<unknown>): Promise<void> {
    try {
      await login;
    } catch (error) {
      cached.clear();
      throw error;
    }
  }

  /** Waits within the limits of the call; the request itself continues for the other callers. */
  const withCallDeadline = <T>({ signal, deadlineAt }: CallContext, promise: Promise<T>): Promise<T> =>
    withTimeout(promise, { signal, timeoutMs: deadlineAt - timing.clockMs(), timeoutError: () => timeoutError(proxy) });

  function findUnexpired(scopes: readonly string[]): string | undefined {
    const known = cached.get(scopeKey(scopes));
    return known !== undefined && isUnexpired(known, timing.now()) ? known.value : undefined;
  }

  return {
    current: (scopes) => (identity.isLoginVerified() ? findUnexpired(scopes) : undefined),
    async get(scopes, context) {
      context.signal.throwIfAborted();
      const token = findUnexpired(scopes) ?? (await withCallDeadline(context, obtainShared(scopes)));
      // A shared token may have been requested before a logout.
      if (!identity.isLoginVerified()) await withCallDeadline(context, confirmLogin(identity.credentials()));
      return token;
    },
    mayHaveExpired(scopes, token) {
      const known = cached.get(scopeKey(scopes));
      return known?.value === token && timing.now() - known.obtainedAt > FRESH_MS;
    },
    discard(scopes, token) {
      refused.set(token, true);
      const key = scopeKey(scopes);
      if (cached.get(key)?.value === token) cached.delete(key);
      runInBackground(() => removeFromStore(scopes, token));
    },
    clockDifferenceMs: () => clockDifferenceMs,
    /** Waits for pending keychain writes. */
    async close(): Promise<void> {
      await writes;
    },
  } satisfies TokenSource & { close(): Promise<void> };
}
