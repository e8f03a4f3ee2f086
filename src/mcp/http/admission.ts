// Decides whose requests are served: with a token, those that carry it; without one, on Linux, those of the user who started
// the server. This holds for every path: a monitor learns from a 401, too, that the server is up.
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Log } from "../runtime.ts";
import { bearerTokenOf } from "./bearer.ts";
import { peerUid } from "./peer.ts";
import { refusal } from "./refusal.ts";

/** The refusal of a request that may not come in; undefined when it may. */
export type Admission = (request: IncomingMessage) => Response | undefined;

const REALM = 'Bearer realm="mic-mcp"';

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

function byToken(token: string): Admission {
  const expected = digest(token);
  return (request) => {
    const presented = bearerTokenOf(request);
    // Digests have one length, so the time of the comparison gives nothing of the token away.
    if (presented !== undefined && timingSafeEqual(digest(presented), expected)) return undefined;
    // RFC 6750, 3.1: an error is named only where a token was given.
    const challenge = presented === undefined ? REALM : `${REALM}, error="invalid_token"`;
    const reason = "This server takes requests with its token only: Authorization: Bearer <MIC_HTTP_TOKEN>.";
    return refusal(401, reason, { headers: { "www-authenticate": challenge } });
  };
}

const ROOT = 0;

function byUser(own: number, log: Log): Admission {
  /** A connection keeps its user, so it is judged once; `against`: why it is refused. */
  const judged = new WeakMap<Socket, { readonly against: string | undefined }>();

  function reasonAgainst(socket: Socket): string | undefined {
    const uid = peerUid(socket);
    if (uid === own || uid === ROOT) return undefined;
    log.info({ uid }, "a connection that is not of this server's user was refused");
    // Refuse an unknown user: a person's credentials are at stake.
    const who = uid === undefined ? "whose connection this is cannot be told" : `this connection is of uid ${uid}`;
    return `This server answers to the user who started it (uid ${own}), and ${who}. With MIC_HTTP_TOKEN set it answers to whoever has that token.`;
  }

  return ({ socket }) => {
    const judgement = judged.get(socket) ?? { against: reasonAgainst(socket) };
    judged.set(socket, judgement);
    return judgement.against === undefined ? undefined : refusal(403, judgement.against);
  };
}

/** Without a token every user of this machine is admitted where the system cannot name a connection's user. */
export function createAdmission(token: string | undefined, log: Log): Admission {
  if (token !== undefined) return byToken(token);
  const own = process.platform === "linux" ? process.geteuid?.() : undefined;
  if (own !== undefined) return byUser(own, log);
  log.warn({}, "any user of this machine can use this server: set MIC_HTTP_TOKEN");
  return () => undefined;
}
