// Implements the rules of subscriptions/listen (2026-07-28) for both transports: the request's schema, refusals and watched resources.
// The SDK serves the stream above the transport and acknowledges every requested resource. So it gets only the watched ones.
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

/** Returns the error that refuses a listen request before any resource is watched; undefined if it is not refused. */
export function checkListenRequest({ params }: ListenRequest): ListenError | undefined {
  const refused = checkTaskSubscription(params);
  return refused && { code: refused.code, message: refused.message, data: refused.data };
}

/** Converts an error of watchRequestedResources to the error that refuses the listen request. */
export const toListenError = (thrown: unknown): ListenError => ({
  code: ProtocolErrorCode.InternalError,
  message: watchErrorText(thrown),
});

/**
 * Starts to watch the resources that a listen request names. Resolves when no change can be missed, with the request for the SDK: it
 * names only the watched resources. Throws Failure synchronously if too many resources are watched.
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
