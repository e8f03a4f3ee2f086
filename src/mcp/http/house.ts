// What serves the clients of one HttpService: sessions for the older revisions, single requests for 2026-07-28.
import { createModern, type Modern } from "./modern.ts";
import { type HttpService, messagesIn } from "./port.ts";
import type { Sessions } from "./sessions.ts";

export interface House {
  readonly sessions: Sessions;
  readonly modern: Modern;
  /** Whether this asks for what may change something at the service. `body`: the parsed JSON of a POST. */
  acts(body: unknown): boolean;
  /** Ends the streams on which clients only listen. */
  endStreams(): Promise<void>;
  /** Aborts calls under way. */
  close(): Promise<void>;
}

export function createHouse(service: HttpService, sessions: Sessions): House {
  const modern = createModern(service);
  return {
    sessions,
    modern,
    acts: (body) => messagesIn(body).some((message) => service.rightFor?.(message) === "act"),
    async endStreams() {
      sessions.endStreams();
      await modern.endStreams();
    },
    async close() {
      await Promise.all([sessions.close(), modern.close()]);
    },
  };
}
