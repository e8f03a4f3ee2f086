// What serves the clients of one HttpService: sessions for the older revisions, single requests for 2026-07-28.
import { createModern, type Modern } from "./modern.ts";
import type { HttpService } from "./port.ts";
import type { Sessions } from "./sessions.ts";

export interface House {
  readonly sessions: Sessions;
  readonly modern: Modern;
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
    async endStreams() {
      sessions.endStreams();
      await modern.endStreams();
    },
    async close() {
      await Promise.all([sessions.close(), modern.close()]);
    },
  };
}
