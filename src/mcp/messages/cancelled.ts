// A client's word that it does not want the answer to a request any more.
import * as z from "zod/v4";

export const Cancelled = z.object({
  method: z.literal("notifications/cancelled"),
  params: z.object({ requestId: z.union([z.string(), z.number()]) }),
});
