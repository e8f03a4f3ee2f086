// The rules of subscriptions/listen (2026-07-28) for both transports: what such a request is, why one is refused, and what it is
// given. The SDK serves the stream above the transport and acknowledges whatever was asked for; ours names only what is watched.
import { ProtocolErrorCode, type RequestId } from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { taskRefusal } from "../tasks/serve.ts";
import { refusalText, type Subscriptions } from "./subscriptions.ts";

export const Id = z.union([z.string(), z.number()]) satisfies z.ZodType<RequestId>;

export const Listen = z.looseObject({
  jsonrpc: z.literal("2.0"),
  method: z.literal("subscriptions/listen"),
  id: Id,
  params: z.looseObject({
    notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()).optional() }),
  }),
});
export type Listen = z.infer<typeof Listen>;

export interface ListenRefusal {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Why a listen request is refused before anything is watched; undefined when it is not. */
export function listenRefusal({ params }: Listen): ListenRefusal | undefined {
  const refused = taskRefusal(params);
  return refused && { code: refused.code, message: refused.message, data: refused.data };
}

/** Why a listen request is refused when watching cannot begin. */
export const watchRefusal = (thrown: unknown): ListenRefusal => ({
  code: ProtocolErrorCode.InternalError,
  message: refusalText(thrown),
});

/**
 * Begins to watch what a listen request names. Resolves, once no change can be missed, with the request as the SDK may take it: it
 * names only what is really watched. Throws Failure, at once, when too many are watched.
 */
export function watchNamed(message: Listen, subscriptions: Subscriptions): Promise<Listen> {
  const { id, params } = message;
  const { notifications } = params;
  const named = [...new Set(notifications.resourceSubscriptions)].filter(subscriptions.canWatch);
  const joining = named.map((uri) => subscriptions.join(uri, id).then((there) => (there ? [uri] : [])));
  return Promise.all(joining).then((watched) => ({
    ...message,
    params: { ...params, notifications: { ...notifications, resourceSubscriptions: watched.flat() } },
  }));
}
