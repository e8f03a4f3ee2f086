// Reads a tool's result in the same way for all clients: its text, structured content, action and failure facts.
import * as z from "zod/v4";

/** Failure facts for programs: exactly the fields of docs/interface.md ("Failures"). */
const Facts = z.strictObject({
  kind: z.enum([
    "invalid_arguments",
    "not_configured",
    "unauthorized",
    "forbidden",
    "not_found",
    "conflict",
    "precondition_failed",
    "rate_limited",
    "rejected",
    "upstream_unavailable",
    "outcome_unknown",
    "contract_violation",
    "timeout",
    "cancelled",
    "unavailable",
    "internal",
  ]),
  message: z.string().min(1),
  status: z.int().optional(),
  at: z.enum(["token endpoint", "connection"]).optional(),
  code: z.string().optional(),
  requestId: z.string().optional(),
  retryable: z.boolean(),
  sideEffect: z.enum(["none", "done", "unknown"]),
  idempotencyKey: z.string().optional(),
  retryAfterSeconds: z.int().optional(),
  fieldErrors: z.array(z.strictObject({ pointer: z.string(), code: z.string(), message: z.string() })).optional(),
  next: z.string().optional(),
  earlierSteps: z.string().optional(),
});
export type Facts = z.infer<typeof Facts>;

const Json = z.record(z.string(), z.unknown());

const Action = z.strictObject({ idempotencyKey: z.string(), replayed: z.boolean() });

const RawResult = z.looseObject({
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
  structuredContent: Json.optional(),
  isError: z.boolean().optional(),
  _meta: Json.optional(),
});

/** Reads a result of `tools/call` from any client. */
export function readResult(result: unknown) {
  const { content, structuredContent, isError = false, _meta = {} } = RawResult.parse(result);
  return {
    isError,
    text: content.map(({ text = "" }) => text).join("\n"),
    blocks: content.length,
    links: content.slice(1).map(({ type, uri }) => (type === "resource_link" ? String(uri) : `no link: ${type}`)),
    structured: structuredContent,
    /** The data of a view. */
    view: Json.optional().parse(_meta["mic-mcp/view"]),
    /** Only for tools that perform an action. */
    action: Action.optional().parse(structuredContent?.["action"]),
    meta: _meta,
    /** Validated against docs/interface.md. */
    error: Facts.optional().parse(_meta["mic-mcp/error"]),
    raw: JSON.stringify(result),
  };
}
export type CallResult = ReturnType<typeof readResult>;
