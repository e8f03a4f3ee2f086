// Lets plain reads pass the SDK by on stdio. test/mcp/stdio/reads.test.ts holds that nobody sees a difference.
import { Cancelled } from "../messages/cancelled.ts";
import type { Reads } from "../messages/reads.ts";
import type { MessageFilter } from "./transport.ts";

/** `next`: sees what is left to the SDK. */
export const readsBefore = (reads: Reads, next: MessageFilter): MessageFilter => ({
  inbound(message, pass, answer) {
    if (reads.take(message, answer)) return;
    if ("method" in message && message.method === "notifications/cancelled") {
      const cancelled = Cancelled.safeParse(message).data;
      if (cancelled) reads.cancel(cancelled.params.requestId);
    }
    next.inbound(message, pass, answer);
  },
  outbound(message, pass) {
    reads.sent(message);
    return next.outbound(message, pass);
  },
  closed: reads.close,
});
