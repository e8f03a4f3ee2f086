// Which request may begin, and when: so many at once, none while the client does not read its answers, and none under an
// id that is still being worked on. What need not wait does not: notifications, responses, quick requests.
import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { Cancelled } from "../messages/cancelled.ts";

type RequestId = string | number;

/** More than any client has been seen to send; each may hold an answer in memory. */
const MAX_AT_WORK = 128;
/** Of requests that wait. Beyond it nothing is read any more. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** What a parsed request takes besides its text, roughly. */
const OVERHEAD_BYTES = 1_024;

/** Answered from memory: a client that asks whether the server lives is not kept waiting by its own calls. */
const QUICK: ReadonlySet<string> = new Set([
  "ping",
  "initialize",
  "server/discover",
  "tools/list",
  "resources/list",
  "resources/templates/list",
  "prompts/list",
  "prompts/get",
]);
/** Answered when it ends; the SDK limits how many there are. */
const LISTEN = "subscriptions/listen";

export interface IntakeOptions {
  deliver(message: JSONRPCMessage): void;
  /** The client does not want this request's answer any more. */
  cancelled(id: RequestId): void;
  /** Whether the client is behind with reading. */
  isBackedUp(): boolean;
}

/** A request, or an answer to what is none; both cost the client a line to read. */
interface Waiting {
  /** Of a request. */
  readonly id?: RequestId;
  readonly bytes: number;
  begin(): void;
}

export type Intake = ReturnType<typeof createIntake>;

export function createIntake({ deliver, cancelled, isBackedUp }: IntakeOptions) {
  const quick = new Set<Waiting>();
  const slow = new Set<Waiting>();
  let waitingBytes = 0;
  /** Ids, and whether they count among the slow. */
  const atWork = new Map<RequestId, boolean>();
  let slowAtWork = 0;
  let pumping = false;

  function beginFrom(queue: Set<Waiting>): void {
    for (const each of queue) {
      if (isBackedUp() || (queue === slow && slowAtWork >= MAX_AT_WORK)) return;
      if (each.id !== undefined) {
        if (atWork.has(each.id)) continue;
        atWork.set(each.id, queue === slow);
        if (queue === slow) slowAtWork++;
      }
      queue.delete(each);
      waitingBytes -= each.bytes;
      each.begin();
    }
  }

  /** Begins what may. An answer given at once ends up here again: the loop goes on, not deeper. */
  function pump(): void {
    if (pumping) return;
    pumping = true;
    try {
      beginFrom(quick);
      beginFrom(slow);
    } finally {
      pumping = false;
    }
  }

  function wait(queue: Set<Waiting>, each: Waiting): void {
    queue.add(each);
    waitingBytes += each.bytes;
    pump();
  }

  function ended(id: RequestId): void {
    if (atWork.get(id)) slowAtWork--;
    atWork.delete(id);
  }

  function cancel(id: RequestId): void {
    for (const queue of [quick, slow])
      for (const each of queue)
        if (each.id === id) {
          queue.delete(each);
          waitingBytes -= each.bytes;
        }
    ended(id);
    cancelled(id);
  }

  return {
    /** `bytes`: how long the message was on the wire. */
    take(message: JSONRPCMessage, bytes: number): void {
      if ("method" in message && "id" in message && message.method !== LISTEN) {
        const { id, method } = message;
        wait(QUICK.has(method) ? quick : slow, { id, bytes: bytes + OVERHEAD_BYTES, begin: () => deliver(message) });
        return;
      }
      const cancellation = Cancelled.safeParse(message).data;
      if (cancellation) cancel(cancellation.params.requestId);
      deliver(message);
      pump();
    },

    /** Answers what was no message, once the client reads again. */
    refuse(answer: () => void): void {
      wait(quick, { bytes: OVERHEAD_BYTES, begin: answer });
    },

    /** This request is answered. */
    ended,

    pump,

    /** Besides the one that is being answered. */
    hasMoreAtWork: (): boolean => atWork.size > 1,

    isFull: (): boolean => waitingBytes >= MAX_WAITING_BYTES,
  };
}
