// One token for each scope set, fetched once however many calls need it, kept in memory until it expires or is refused.
import { once } from "node:events";
import { Failure, notConfigured } from "../failure.ts";
import { ATTEMPT_LIMIT_MS, type CallContext, type Timing } from "../service/attempts.ts";
import type { TokenSource } from "../service/call.ts";
import { AnswerTooLarge, type Transport, TransportError } from "../service/transport.ts";
import { basicHeader, type ClientCredentials, noToken, readTokenAnswer, type Token, tokenRequest } from "./oauth.ts";
import type { Redactor } from "./redaction.ts";

export interface TokenOptions {
  readonly baseUrl: string;
  readonly credentials: ClientCredentials | undefined;
  readonly transport: Transport;
  readonly timing: Timing;
  readonly redactor: Redactor;
}

interface Held {
  readonly value: string;
  /** Milliseconds since 1970 from which on it is renewed; Infinity when the service stated no lifetime. */
  readonly renewAt: number;
}

const MAX_TOKEN_BYTES = 64 * 1024;

/** Renewed 60 s before its end, or at nine tenths of a shorter life. */
const renewAt = ({ expiresInSeconds }: Token, now: number): number =>
  expiresInSeconds === undefined
    ? Number.POSITIVE_INFINITY
    : now + (expiresInSeconds - Math.min(60, expiresInSeconds / 10)) * 1000;

function unreachable(error: TransportError): Failure {
  return new Failure(
    {
      kind: "upstream_unavailable",
      message: `The token endpoint could not be reached: ${error.message}.`,
      retryable: true,
      sideEffect: "none",
      next: "Try again in a little while; check MIC_BASE_URL if it never works.",
    },
    { cause: error },
  );
}

const tooLate = (): Failure =>
  new Failure({
    kind: "timeout",
    message: "The token endpoint did not answer in time.",
    retryable: true,
    sideEffect: "none",
    next: "Try again in a little while.",
  });

export function createTokens({ baseUrl, credentials, transport, timing, redactor }: TokenOptions): TokenSource {
  const held = new Map<string, Held>();
  if (credentials) redactor.add(basicHeader(credentials).slice("Basic ".length));
  const underway = new Map<string, Promise<string>>();

  async function fetchToken(scopes: readonly string[], key: string): Promise<string> {
    if (!credentials)
      throw notConfigured(
        "No client credentials are configured, and this operation needs an access token.",
        "Set MIC_CLIENT_ID and MIC_CLIENT_SECRET, or start the server with --emulator.",
      );
    try {
      // Not bound to the caller's signal: other calls may be waiting for the same token.
      const answer = await transport.exchange(tokenRequest(baseUrl, credentials, scopes), {
        maxBytes: MAX_TOKEN_BYTES,
        timeoutMs: ATTEMPT_LIMIT_MS,
        signal: new AbortController().signal,
      });
      const token = readTokenAnswer(answer, scopes);
      redactor.add(token.value);
      held.set(key, { value: token.value, renewAt: renewAt(token, timing.now()) });
      return token.value;
    } catch (error) {
      if (error instanceof TransportError) throw unreachable(error);
      throw error instanceof AnswerTooLarge ? noToken(error.message) : error;
    }
  }

  function shared(scopes: readonly string[], key: string): Promise<string> {
    const running = underway.get(key);
    if (running) return running;
    const started = fetchToken(scopes, key).finally(() => underway.delete(key));
    underway.set(key, started);
    return started;
  }

  /** Waits for a token within the call's own limits; the request itself goes on for the other callers. */
  async function within({ signal, deadlineAt }: CallContext, token: Promise<string>): Promise<string> {
    const late = AbortSignal.timeout(Math.max(0, deadlineAt - timing.now()));
    const stopped = new AbortController();
    const either = AbortSignal.any([signal, late]);
    const ended = once(either, "abort", { signal: stopped.signal }).then(() => {
      signal.throwIfAborted();
      throw tooLate();
    });
    try {
      return await Promise.race([token, ended]);
    } finally {
      ended.catch(() => undefined);
      stopped.abort();
    }
  }

  return {
    async get(scopes: readonly string[], context: CallContext): Promise<string> {
      context.signal.throwIfAborted();
      const key = [...scopes].sort().join(" ");
      const known = held.get(key);
      if (known && timing.now() < known.renewAt) return known.value;
      return await within(context, shared(scopes, key));
    },
    discard(scopes: readonly string[], token: string): void {
      const key = [...scopes].sort().join(" ");
      if (held.get(key)?.value === token) held.delete(key);
    },
  };
}
