// What stands between the listening socket and what is served: who may come in, and to which house.
import type { IncomingMessage } from "node:http";
import type { Telemetry } from "../../telemetry/port.ts";
import type { Redact } from "../messages/redact.ts";
import type { Log } from "../runtime.ts";
import type { Served } from "./port.ts";

/** "serving"; "leaving": not ready any more, and all is served as before; "ending": nothing new begins. */
export type Phase = "serving" | "leaving" | "ending";

export interface AtDoor {
  /** The client has gone. */
  readonly signal: AbortSignal;
  phase(): Phase;
  /** More requests are under way than connections may be. */
  isFull(): boolean;
}

export interface Door {
  /** What a request gets, a refusal included. */
  answer(request: IncomingMessage, at: AtDoor): Promise<Served>;
  /** Stand on every response; what the response says itself wins. */
  headers?(request: IncomingMessage, response: { readonly isStream: boolean }): Readonly<Record<string, string>>;
  /** Whether a response of this status is the last on its connection. */
  isLast(status: number): boolean;
  /** Ends the streams on which clients only listen. */
  endStreams(): Promise<void>;
  /** Aborts calls under way. */
  close(): Promise<void>;
  /** Takes secrets out of what has no redaction of its own. */
  readonly redact: Redact;
  readonly log: Log;
  /** Absent: nobody asked for it. */
  readonly telemetry?: Telemetry | undefined;
}
