// What the playground answers instead of the table, on request: other numbers, names, codes and vintages, states that fail.
import * as z from "zod/v4";
import { DistrictsResponse, StatesResponse } from "../../contract/playground.ts";

const Failing = z.strictObject({
  status: z.int().min(400).max(599),
  retryAfterSeconds: z.int().min(1).max(86_400).optional(),
});
export type Failing = z.infer<typeof Failing>;

/** Each part replaces its own; what is left out stays as it is. */
export const GeographyVariant = z.strictObject({
  states: StatesResponse.optional(),
  /** By state code: an answer of its own, a failure every time, or null for a code that is known no longer. */
  districts: z.record(z.string().regex(/^[A-Z]{2}$/), z.union([DistrictsResponse, Failing, z.null()])).optional(),
  /** How a well-formed code of no state is answered; not shown in the contract (doubt 9). */
  unknownState: z.enum(["refused", "empty"]).optional(),
});
export type GeographyVariant = z.infer<typeof GeographyVariant>;
