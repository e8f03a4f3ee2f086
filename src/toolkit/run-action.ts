// Running an action tool: the journal sees to it that it happens once, and its answer says how it went.
import type * as z from "zod/v4";
import type { ActionTraits } from "../actions/identity.ts";
import type { JsonEndpoint } from "../contract/endpoints/endpoint.ts";
import { isJsonObject } from "../contract/json.ts";
import { Failure } from "../failure.ts";
import { encodeRequest } from "../service/encode.ts";
import type { Ports } from "./ports.ts";
import { requestOf } from "./requests.ts";
import { type ActionResult, actionResult, type Subject } from "./results.ts";
import type { ToolCall } from "./tool-call.ts";

export type EnvelopeOf<T> = z.ZodType<{ data: T; meta: { requestId: string } }>;

export interface ActionArguments {
  readonly idempotencyKey?: string | undefined;
  readonly [field: string]: unknown;
}

export interface ActionRun<T> {
  readonly endpoint: JsonEndpoint<EnvelopeOf<T>>;
  readonly traits: ActionTraits;
  readonly subject: Subject<T>;
  /** How an agent finds out whether an action of long ago happened. */
  readonly findOut: string;
  /** Judges a new action before it is sent; a resumed one was judged before. Throws Failure. */
  readonly check?: () => Promise<void>;
  /** What in the answer shows that it answers something else, if anything does. */
  readonly mismatch?: (resource: T) => string | undefined;
  /** The If-Match of a new action. */
  readonly ifMatch?: () => Promise<string>;
}

function resourceId(value: unknown): string | undefined {
  const data = isJsonObject(value) ? value["data"] : undefined;
  const id = isJsonObject(data) ? data["id"] : undefined;
  return typeof id === "string" ? id : undefined;
}

export async function runAction<T>(
  args: ActionArguments,
  call: ToolCall,
  { actions, service }: Pick<Ports, "actions" | "service">,
  run: ActionRun<T>,
): Promise<ActionResult<T>> {
  const { endpoint, traits, subject, findOut, check, mismatch, ifMatch } = run;
  const { idempotencyKey: explicitKey, ...meant } = args;
  const result = await actions.perform({
    tool: call.tool,
    arguments: meant,
    explicitKey,
    proposedKey: call.proposedKey,
    async prepare() {
      await check?.();
      return encodeRequest(endpoint, { ...requestOf(endpoint, args), ...(ifMatch && { ifMatch: await ifMatch() }) });
    },
    async send(request, key, attempts) {
      const answer = await service.send(endpoint, request, key, call.context, attempts);
      const reason = mismatch?.(answer.value.data);
      if (reason === undefined) return answer;
      throw new Failure({
        kind: "contract_violation",
        message: `The service's answer to ${endpoint.id} breaks its contract: ${reason}.`,
        retryable: false,
        sideEffect: "done",
        idempotencyKey: key,
        next: `The action was accepted: do not repeat it under a new key. ${findOut}`,
      });
    },
    resourceId,
    findOut,
    traits,
    context: call.context,
  });
  const value = endpoint.success.body.parse(result.value);
  const { idempotencyKey, replayed, attempts, drift, notice } = result;
  return await actionResult({ value, drift }, subject, call, { idempotencyKey, replayed, attempts }, notice);
}
