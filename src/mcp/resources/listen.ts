// The rules of subscriptions/listen (2026-07-28) for both transports: what such a request is, why one is refused, and what it is
// given. The SDK serves the stream above the transport and acknowledges whatever was asked for; ours names only what is watched.
import { ProtocolErrorCode, type RequestId } from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { checkTaskSubscription } from "../tasks/serve.ts";
import { type Subscriptions, watchErrorText } from "./subscriptions.ts";

export const Id = z.union([z.string(), z.number()]) satisfies z.ZodType<RequestId>;

export const ListenRequest = z.looseObject({
  jsonrpc: z.literal("2.0"),
  method: z.literal("subscriptions/listen"),
  id: Id,
  params: z.looseObject({
    notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()).optional() }),
  }),
});
export type ListenRequest = z.infer<typeof ListenRequest>;

export interface ListenError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Why a listen request is refused before anything is watched; undefined when it is not. */
export function checkListenRequest({ params }: ListenRequest): ListenError | undefined {
  const refused = checkTaskSubscription(params);
  return refused && { code: refused.code, message: refused.message, data: refused.data };
}

/** Why a listen request is refused when watching cannot begin. */
export const toListenError = (thrown: unknown): ListenError => ({
  code: ProtocolErrorCode.InternalError,
  message: watchErrorText(thrown),
});

/**
 * Begins to watch what a listen request names. Resolves, once no change can be missed, with the request as the SDK may take it: it
 * names only what is really watched. Throws Failure, at once, when too many are watched.
 */
export function watchRequestedResources(message: ListenRequest, subscriptions: Subscriptions): Promise<ListenRequest> {
  const { id, params } = message;
  const { notifications } = params;
  const named = [...new Set(notifications.resourceSubscriptions)].filter(subscriptions.canWatch);
  const subscribing = named.map((uri) => subscriptions.subscribe(uri, id).then((exists) => (exists ? [uri] : [])));
  return Promise.all(subscribing).then((watched) => ({
    ...message,
    params: { ...params, notifications: { ...notifications, resourceSubscriptions: watched.flat() } },
  }));
}
