// What the client of a session said when it began: sealed into the session's id, which the client brings along with each request.
// So any instance can go on with it, and none has to remember it.
import { randomUUID } from "node:crypto";
import type { InitializeRequest, JSONRPCRequest } from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import type { Seals } from "../../../auth/seals.ts";

const SESSION_SECONDS = 24 * 60 * 60;
/** A header of more than 8 KB is more than many balancers take. */
const MAX_SAID_CHARS = 4_096;

const Session = z.object({
  /** Names the session where instances speak of it; it opens nothing. */
  id: z.string(),
  /** When it ends, in milliseconds since 1970. */
  until: z.int(),
  protocolVersion: z.string(),
  capabilities: z.record(z.string(), z.unknown()),
  clientInfo: z.object({ name: z.string(), version: z.string() }),
});
export type Session = z.infer<typeof Session>;

/** Undefined where the client says more of itself than an id can hold. What is experimental is left out. */
export function sessionOf(params: InitializeRequest["params"], protocolVersion: string): Session | undefined {
  const { capabilities, clientInfo } = params;
  const { experimental, ...known } = capabilities;
  const { name, version } = clientInfo;
  const said = { protocolVersion, capabilities: known, clientInfo: { name, version } };
  if (JSON.stringify(said).length > MAX_SAID_CHARS) return undefined;
  return { id: randomUUID(), until: Date.now() + SESSION_SECONDS * 1000, ...said };
}

export const sealSession = (session: Session, caller: string, seals: Seals): Promise<string> =>
  seals.seal("session", caller, session, SESSION_SECONDS);

/** Undefined where it is another caller's, altered, or too old. */
export const openSession = (sealed: string, caller: string, seals: Seals): Promise<Session | undefined> =>
  seals.open("session", caller, sealed, Session);

/** What tells a new server all that the session's first one was told. */
export const initializeAgain = (
  { protocolVersion, capabilities, clientInfo }: Session,
  id: string,
): JSONRPCRequest => ({
  jsonrpc: "2.0",
  id,
  method: "initialize",
  params: { protocolVersion, capabilities, clientInfo },
});
