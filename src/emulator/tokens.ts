// Access tokens: opaque, random, held in memory until the clock passes their end.
import { randomBytes } from "node:crypto";
import { BoundedMap } from "../bounded-map.ts";
import { MAX_KEPT, TOKEN_BYTES, TOKEN_LIFETIME_SECONDS } from "./choices.ts";
import { type Clock, SECOND } from "./clock.ts";

interface Grant {
  readonly scopes: ReadonlySet<string>;
  readonly expiresAt: number;
}

export class IssuedTokens {
  readonly #grants = new BoundedMap<string, Grant>(MAX_KEPT.tokens);
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  issue(scopes: ReadonlySet<string>): string {
    const now = this.#clock.now();
    this.#grants.forgetWhile((grant) => grant.expiresAt <= now);
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    this.#grants.set(token, { scopes, expiresAt: now + TOKEN_LIFETIME_SECONDS * SECOND });
    return token;
  }

  /** The scopes of a token that is valid now. */
  scopesOf(token: string): ReadonlySet<string> | undefined {
    const grant = this.#grants.get(token);
    return grant !== undefined && this.#clock.now() < grant.expiresAt ? grant.scopes : undefined;
  }

  expireAll(): void {
    this.#grants.clear();
  }
}
