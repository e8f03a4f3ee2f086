// Access tokens: opaque, random, held in memory until the clock passes their end.
import { randomBytes } from "node:crypto";
import { BoundedMap } from "../bounded-map.ts";
import { MAX_KEPT, TOKEN_BYTES, TOKEN_LIFETIME_SECONDS } from "./choices.ts";
import type { Client } from "./clients.ts";
import { type Clock, SECOND } from "./clock.ts";

export interface Grant {
  readonly client: Client;
  readonly scopes: ReadonlySet<string>;
  readonly expiresAt: number;
}

export class IssuedTokens {
  readonly #grants = new BoundedMap<string, Grant>(MAX_KEPT.tokens);
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  issue(client: Client, scopes: ReadonlySet<string>): string {
    const now = this.#clock.now();
    this.#grants.forgetWhile((grant) => grant.expiresAt <= now);
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    this.#grants.set(token, { client, scopes, expiresAt: now + TOKEN_LIFETIME_SECONDS * SECOND });
    return token;
  }

  /** What a token stands for that is valid now. */
  grantOf(token: string): Grant | undefined {
    const grant = this.#grants.get(token);
    return grant !== undefined && this.#clock.now() < grant.expiresAt ? grant : undefined;
  }

  expireAll(): void {
    this.#grants.clear();
  }
}
