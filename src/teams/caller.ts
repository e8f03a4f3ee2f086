// Who calls a deployment for teams, as the organization's identity provider says it.
import { createHash } from "node:crypto";

/** What a caller may do: `read` is every tool that changes nothing at the service, `act` every action. */
export const RIGHTS = ["read", "act"] as const;
export type Right = (typeof RIGHTS)[number];

export interface Caller {
  /** 64 hexadecimal digits, of issuer and subject alone: no e-mail address and no client id says who somebody is. */
  readonly id: string;
  readonly issuer: string;
  readonly subject: string;
  /** The OAuth client that he calls with. */
  readonly clientId: string;
  readonly rights: ReadonlySet<Right>;
  /** The values of MIC_AUTH_TEAM_CLAIM: which teams he may belong to. */
  readonly groups: readonly string[];
  /** When his token ends, in milliseconds since 1970. */
  readonly expiresAt: number;
}

export const callerId = (issuer: string, subject: string): string =>
  createHash("sha256")
    .update(JSON.stringify([issuer, subject]))
    .digest("hex");
