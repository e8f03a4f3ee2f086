// What goes out through a client and comes back: sealed for one caller in one team, opened for him alone, by any instance.
import * as z from "zod/v4";
import type { SealedIds } from "../../auth/sealed-ids.ts";
import type { Seals } from "./encryption.ts";

/** A caller as he is in one team; in another he is somebody else. `team`: undefined where he is in none. */
export const nameIn = (team: string | undefined, caller: string): string => JSON.stringify([team ?? null, caller]);

/** In effect for ever: it ends with its key. */
const TASK_SECONDS = 10 * 365 * 86_400;

/** `who`: as nameIn has it. */
export const taskIdsFor = <T extends object>(seals: Seals, who: string, schema: z.ZodType<T>): SealedIds<T> => ({
  seal: (value) => seals.seal("task", who, value, TASK_SECONDS),
  open: (id) => seals.open("task", who, id, schema),
});

interface Asking {
  readonly mcpReq: { readonly method: string };
}

const Asked = z.strictObject({ method: z.string(), asked: z.unknown() });

/** Of questions to a person, each for the method that asks. `seconds`: how long he may take. */
export const questionsFor = (seals: Seals, who: string, seconds: number) => ({
  mint: (asked: unknown, { mcpReq: { method } }: Asking = { mcpReq: { method: "" } }): Promise<string> =>
    seals.seal("question", who, { method, asked }, seconds),
  /** Rejects what was not sealed so. */
  async verify(sealed: string, { mcpReq: { method } }: Asking): Promise<unknown> {
    const opened = await seals.open("question", who, sealed, Asked);
    if (opened?.method !== method) throw new Error("it was sealed for somebody or something else, or is too old");
    return opened.asked;
  },
});
