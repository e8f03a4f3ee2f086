// The notification with which a client says that it no longer wants the answer to a request.
import * as z from "zod/v4";

export const Cancelled = z.object({
  method: z.literal("notifications/cancelled"),
  params: z.object({ requestId: z.union([z.string(), z.number()]) }),
});
