// One read of a sealed session, of which nothing is said but its answer.
import type { JSONRPCMessage, JSONRPCRequest } from "@modelcontextprotocol/server";
import { reasonOf } from "../../../failure.ts";
import { withLegacyCode } from "../../messages/legacy-codes.ts";
import { type Ask, answerTo } from "../answer.ts";
import type { HttpService } from "../port.ts";
import type { Call } from "./call.ts";
import type { Readers } from "./readers.ts";
import type { Session } from "./session.ts";

/** What is cancelled stays unanswered: its stream ends without a message. */
const unanswered = (): Response => new Response("", { headers: { "content-type": "text/event-stream" } });

export interface ReadingParts {
  readonly service: HttpService;
  readonly session: Session;
  readonly readers: Readers;
  readonly request: JSONRPCRequest;
  onEnd(): void;
}

export function createReading({ service, session, readers, request, onEnd }: ReadingParts): Call {
  const open = new Set([request.id]);
  let isOver = false;
  let isCancelled = false;
  let cancel: () => void = () => undefined;
  let told: Parameters<Ask>[1] = () => undefined;
  let onAnswer: () => void = () => undefined;

  function answered(answer: JSONRPCMessage | undefined): void {
    if (!open.delete(request.id)) return;
    onEnd();
    onAnswer();
    told(answer && withLegacyCode(answer));
  }

  const read = (): Promise<void> =>
    readers.read(session, async (ask) => {
      if (open.size === 0) return;
      await new Promise<void>((resolve) => {
        onAnswer = resolve;
        cancel = ask(request, answered);
      });
    });

  /** A lost connection is no cancellation: the read goes on, and nobody hears its answer. */
  const ask: Ask = (_, hear) => {
    told = hear;
    read().catch((error: unknown) => {
      service.log.error({ reason: reasonOf(error) }, "a read came to no server");
      answered(undefined);
    });
    return () => {
      told = () => undefined;
    };
  };

  function stop(): void {
    cancel();
    answered(undefined);
  }

  return {
    awaits: (id) => !isOver && open.has(id),
    async serve({ signal }) {
      const response = await answerTo(request, ask, { signal });
      return {
        response: isCancelled ? unanswered() : response,
        kind: "call",
        async over() {
          isOver = true;
        },
      };
    },
    hear(notice) {
      if (notice.kind !== "cancelled" || notice.requestId !== request.id) return false;
      isCancelled = true;
      stop();
      return true;
    },
    answer: () => false,
    async end() {
      stop();
    },
  };
}
