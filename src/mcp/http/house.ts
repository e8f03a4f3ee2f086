// What serves the clients of one HttpService: the older revisions in sessions or statelessly, and single requests for 2026-07-28.
import { createModern, type Modern } from "./modern.ts";
import type { HttpService, Served } from "./port.ts";

/** Serves clients of revisions before 2026-07-28. */
export interface LegacyClients {
  /** `body`: the parsed JSON of a POST. */
  serve(request: Request, body?: unknown): Promise<Served>;
  /** Ends the streams on which clients only listen. */
  endStreams(): void;
  /** Aborts calls in flight. */
  close(): Promise<void>;
}

export interface House {
  readonly legacy: LegacyClients;
  readonly modern: Modern;
  /** Ends the streams on which clients only listen. */
  endStreams(): Promise<void>;
  /** Aborts calls under way. */
  close(): Promise<void>;
}

export function createHouse(service: HttpService, legacy: LegacyClients): House {
  const modern = createModern(service);
  return {
    legacy,
    modern,
    async endStreams() {
      legacy.endStreams();
      await modern.endStreams();
    },
    async close() {
      await Promise.all([legacy.close(), modern.close()]);
    },
  };
}
