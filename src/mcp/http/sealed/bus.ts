// Between instances: what arrives at one and is meant for a call or a stream at another. One for the process.
import { randomUUID } from "node:crypto";
import * as z from "zod/v4";
import { BoundedMap } from "../../../bounded-map.ts";
import { reasonOf } from "../../../failure.ts";
import type { Log } from "../../runtime.ts";
import type { Notices } from "./port.ts";

const CHANNEL = "mic_answers";
/** PostgreSQL takes 8,000. */
const MAX_NOTICE_BYTES = 7_000;
/** Of the last day, of a caller who begins and ends one each second. */
const MAX_ENDED = 100_000;

const about = { session: z.string() };
const Notice = z.discriminatedUnion("kind", [
  /** The client no longer wants the answer to this request. */
  z.object({ kind: z.literal("cancelled"), ...about, requestId: z.union([z.string(), z.number()]) }),
  /** An answer to this question lies in the rows. */
  z.object({ kind: z.literal("answered"), ...about, question: z.string() }),
  /** The person is still at this question. */
  z.object({ kind: z.literal("progress"), ...about, question: z.string(), params: z.record(z.string(), z.unknown()) }),
  /** What the session subscribes to has changed. */
  z.object({ kind: z.literal("subscribed"), ...about }),
  /** A stream has begun, and takes the place of any other. */
  z.object({ kind: z.literal("stream"), ...about }),
  /** The client has ended the session. */
  z.object({ kind: z.literal("ended"), ...about }),
]);
export type Notice = z.infer<typeof Notice>;
const Envelope = z.object({ from: z.string(), notice: Notice });

interface Listener {
  hear(notice: Notice): void;
  /** Notices may have been lost. */
  missed(): void;
}

/** A listener's way to all others, of this process and of other instances. */
export interface Member {
  /** What is too long to be told is not. */
  send(notice: Notice): Promise<void>;
  leave(): void;
}

export type SessionBus = ReturnType<typeof createSessionBus>;

export function createSessionBus(notices: Notices, log: Log) {
  const own = randomUUID();
  const listeners = new Set<Listener>();
  const ended = new BoundedMap<string, true>(MAX_ENDED);

  function dispatch(notice: Notice, by?: Listener): void {
    if (notice.kind === "ended") ended.set(notice.session, true);
    for (const listener of listeners) if (listener !== by) listener.hear(notice);
  }

  function hear(text: string): void {
    const { from, notice } = Envelope.parse(JSON.parse(text));
    if (from !== own) dispatch(notice);
  }

  const leave = notices.on(
    CHANNEL,
    (text) => {
      try {
        hear(text);
      } catch (error) {
        log.warn({ reason: reasonOf(error) }, "a notice of another instance was not understood");
      }
    },
    () => {
      for (const listener of listeners) listener.missed();
    },
  );

  return {
    join(listener: Listener): Member {
      listeners.add(listener);
      return {
        async send(notice) {
          dispatch(notice, listener);
          const text = JSON.stringify({ from: own, notice });
          if (Buffer.byteLength(text) <= MAX_NOTICE_BYTES) await notices.send(CHANNEL, text);
        },
        leave: () => void listeners.delete(listener),
      };
    },

    /** Whether its client is known to have ended it: an instance that began later does not know. */
    isEnded: (session: string): boolean => ended.has(session),

    close: leave,
  };
}
