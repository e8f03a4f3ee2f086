// Running an action: one POST under one Idempotency-Key, told with its key, whether it was replayed, and its attempts.
import type * as z from "zod/v4";
import type { JsonEndpoint } from "../contract/endpoints/endpoint.ts";
import { keyOf, requestOf } from "./requests.ts";
import { resourceResult, type Telling } from "./results.ts";
import type { ToolCall, ToolResult } from "./tool.ts";

type EnvelopeOf<T> = z.ZodType<{ data: T; meta: { requestId: string } }>;

export interface ActionArguments {
  readonly idempotencyKey?: string | undefined;
  readonly [field: string]: unknown;
}

export async function runAction<T>(
  endpoint: JsonEndpoint<EnvelopeOf<T>>,
  args: ActionArguments,
  call: ToolCall,
  tell: (resource: T) => Telling,
  ifMatch?: string,
): Promise<ToolResult> {
  const idempotencyKey = keyOf(args);
  const request = { ...requestOf(endpoint, args), idempotencyKey, ...(ifMatch !== undefined && { ifMatch }) };
  const answer = await call.service.call(endpoint, request, call.context);
  const { attempts, replayed } = answer;
  return resourceResult(answer, tell(answer.value.data), { idempotencyKey, replayed, attempts });
}
