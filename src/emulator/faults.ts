// Faults on request: how a network and a service fail, queued per operation and used up in order.
import * as z from "zod/v4";
import { endpoints } from "../contract/endpoints/index.ts";

export const TOKEN_OPERATION = "token";
const MAX_DELAY_MS = 600_000;
const MAX_QUEUED = 10_000;

const Fault = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("drop-before") }),
  z.strictObject({ kind: z.literal("drop-after") }),
  z.strictObject({ kind: z.literal("delay"), delayMs: z.int().min(0).max(MAX_DELAY_MS) }),
  z.strictObject({ kind: z.literal("hang"), afterCommit: z.boolean().optional() }),
  z
    .strictObject({
      kind: z.literal("status"),
      status: z.int().min(200).max(599),
      retryAfterSeconds: z.int().min(0).max(86_400).optional(),
      problem: z.boolean().optional(),
      code: z.string().min(1).max(100).optional(),
      retryable: z.boolean().optional(),
      afterCommit: z.boolean().optional(),
    })
    .refine(({ status, problem }) => problem === false || status >= 400, {
      error: "a Problem's status is 400 to 599: say problem: false for another",
      path: ["status"],
    }),
  z.strictObject({ kind: z.literal("truncate") }),
  z.strictObject({
    kind: z.literal("body"),
    body: z.string(),
    contentType: z
      .string()
      .regex(/^[\x20-\x7e]{1,200}$/)
      .optional(),
    status: z.int().min(200).max(599).optional(),
  }),
  z.strictObject({ kind: z.literal("extra-field") }),
  z.strictObject({ kind: z.literal("expire-token") }),
]);
export type Fault = z.infer<typeof Fault>;

export const FaultOrder = z.strictObject({
  operationId: z.enum([TOKEN_OPERATION, ...endpoints.map(({ id }) => id)]).optional(),
  times: z.int().min(1).max(1000).default(1),
  fault: Fault,
});
export type FaultOrder = z.infer<typeof FaultOrder>;

export class Faults {
  #queue: { readonly operationId: string | undefined; readonly fault: Fault; left: number }[] = [];

  /** How many requests are going to fail. */
  get queued(): number {
    return this.#queue.reduce((sum, { left }) => sum + left, 0);
  }

  /** False when the queue is full. */
  add({ operationId, times, fault }: FaultOrder): boolean {
    if (this.queued + times > MAX_QUEUED) return false;
    this.#queue.push({ operationId, fault, left: times });
    return true;
  }

  /** The first fault queued for this operation, or for any. */
  take(operationId: string): Fault | undefined {
    const index = this.#queue.findIndex((entry) => (entry.operationId ?? operationId) === operationId);
    const entry = this.#queue[index];
    if (entry === undefined) return undefined;
    entry.left -= 1;
    if (entry.left === 0) this.#queue.splice(index, 1);
    return entry.fault;
  }

  clear(): void {
    this.#queue = [];
  }
}
