// A subscriptions/listen request of 2026-07-28, as far as it matters here.
import * as z from "zod/v4";

export const Id = z.union([z.string(), z.number()]);

export const Listen = z.looseObject({
  method: z.literal("subscriptions/listen"),
  id: Id,
  params: z.looseObject({
    notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()).optional() }),
  }),
});
export type Listen = z.infer<typeof Listen>;
