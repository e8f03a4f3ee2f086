// Decides which request may begin, and when: a limited number at once, none while the client does not read its answers, and none
// under an id that is still at work. Notifications, responses and quick requests need not wait.
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/server";
import { Cancelled } from "../messages/cancelled.ts";

/** More than any client has been seen to send; each may hold an answer in memory. */
const MAX_AT_WORK = 128;
/** How much the requests that wait may take. Beyond it nothing more is read. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** Roughly what a parsed request takes besides its text. */
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
  /** Whether the client is behind with reading. */
  isBackedUp(): boolean;
}

/** A request, or the refusal of a line; for either the client has to read a line. */
interface Waiting {
  /** Only a request has one. */
  readonly id?: RequestId;
  readonly bytes: number;
  begin(): void;
}

export type Intake = ReturnType<typeof createIntake>;

export function createIntake({ deliver, isBackedUp }: IntakeOptions) {
  const quick = new Set<Waiting>();
  const slow = new Set<Waiting>();
  let waitingBytes = 0;
  /** Whether the request of each id is a slow one. */
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

  /** Begins what may begin. A request that is answered at once calls this again: the loop goes on instead of recursing. */
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

    /** Answers a line that was not a message, once the client reads again. */
    refuse(answer: () => void): void {
      wait(quick, { bytes: OVERHEAD_BYTES, begin: answer });
    },

    /** This request has its answer. */
    ended,

    pump,

    /** Whether others are at work besides the one that is being answered. */
    hasMoreAtWork: (): boolean => atWork.size > 1,

    isFull: (): boolean => waitingBytes >= MAX_WAITING_BYTES,
  };
}
