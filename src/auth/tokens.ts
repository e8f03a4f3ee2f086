// One token for each scope set, fetched once however many calls need it, kept in memory until it expires or is refused.
import { once } from "node:events";
import { Failure, notConfigured } from "../failure.ts";
import { ATTEMPT_LIMIT_MS, type CallContext, type Timing } from "../service/attempts.ts";
import type { TokenSource } from "../service/call.ts";
import { type Transport, TransportError } from "../service/transport.ts";
import { type ClientCredentials, readTokenAnswer, type Token, tokenRequest } from "./oauth.ts";
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

export function createTokens({ baseUrl, credentials, transport, timing, redactor }: TokenOptions): TokenSource {
  const held = new Map<string, Held>();
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
      throw error instanceof TransportError ? unreachable(error) : error;
    }
  }

  function shared(scopes: readonly string[], key: string): Promise<string> {
    const running = underway.get(key);
    if (running) return running;
    const started = fetchToken(scopes, key).finally(() => underway.delete(key));
    underway.set(key, started);
    return started;
  }

  /** Waits for a token; a cancelled caller stops waiting, the request goes on for the others. */
  async function untilAborted(token: Promise<string>, signal: AbortSignal): Promise<string> {
    const listening = new AbortController();
    const aborted = once(signal, "abort", { signal: listening.signal }).then(() => signal.throwIfAborted());
    try {
      await Promise.race([token, aborted]);
      return await token;
    } finally {
      aborted.catch(() => undefined);
      listening.abort();
    }
  }

  return {
    async get(scopes: readonly string[], context: CallContext): Promise<string> {
      context.signal.throwIfAborted();
      const key = [...scopes].sort().join(" ");
      const known = held.get(key);
      if (known && timing.now() < known.renewAt) return known.value;
      return await untilAborted(shared(scopes, key), context.signal);
    },
    discard(scopes: readonly string[], token: string): void {
      const key = [...scopes].sort().join(" ");
      if (held.get(key)?.value === token) held.delete(key);
    },
  };
}
