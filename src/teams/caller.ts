// Defines the caller of a deployment for teams, as identified by an access token of the organization's identity provider.
import { createHash } from "node:crypto";

/** Rights of a caller: `read` permits every tool that changes nothing at the API, `write` permits every action. */
export const RIGHTS = ["read", "write"] as const;
export type Right = (typeof RIGHTS)[number];

export interface Caller {
  /** See `callerId`. It does not depend on the e-mail address or the OAuth client. */
  readonly id: string;
  readonly issuer: string;
  readonly subject: string;
  /** The resources for which the token was issued. */
  readonly audiences: readonly string[];
  /** The OAuth client that sent the call. */
  readonly clientId: string;
  readonly rights: ReadonlySet<Right>;
  readonly scopes: readonly string[];
  /** The values of the claim MIC_AUTH_TEAM_CLAIM, by which the caller may belong to teams. */
  readonly groups: readonly string[];
  /** The end of the token's validity, in milliseconds since 1970. */
  readonly expiresAt: number;
}

/** The SHA-256 of issuer and subject, as 64 hexadecimal digits. */
export const callerId = (issuer: string, subject: string): string =>
  createHash("sha256")
    .update(JSON.stringify([issuer, subject]))
    .digest("hex");
