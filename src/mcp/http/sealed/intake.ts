// What clients send in a sealed session that asks for nothing: answers to questions, cancellations, progress. Each is for a call,
// which may be at another instance.
import { randomUUID } from "node:crypto";
import type { JSONRPCMessage, JSONRPCResponse, RequestId } from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { Cancelled } from "../../messages/cancelled.ts";

/** As createQuestion makes them: what else clients answer was not asked here. */
const QUESTION = /^q-[0-9a-f-]{36}$/;

export const createQuestion = (): string => `q-${randomUUID()}`;

const Progress = z.object({
  method: z.literal("notifications/progress"),
  params: z.looseObject({ progressToken: z.string().regex(QUESTION) }),
});

export interface Intake {
  answered(question: string, message: JSONRPCResponse): void;
  cancelled(requestId: RequestId): void;
  progress(question: string, params: Readonly<Record<string, unknown>>): void;
}

/** Whether the message was of this kind. */
export function takeIn(message: JSONRPCMessage, intake: Intake): boolean {
  if (!("method" in message)) {
    if (typeof message.id === "string" && QUESTION.test(message.id)) intake.answered(message.id, message);
    return true;
  }
  const cancelled = Cancelled.safeParse(message).data;
  if (cancelled) {
    intake.cancelled(cancelled.params.requestId);
    return true;
  }
  const progress = Progress.safeParse(message).data;
  if (!progress) return false;
  const { progressToken, ...params } = progress.params;
  intake.progress(progressToken, params);
  return true;
}
