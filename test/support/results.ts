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
    "internal",
  ]),
  message: z.string().min(1),
  status: z.int().optional(),
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
type Json = z.infer<typeof Json>;

const Action = z.strictObject({ idempotencyKey: z.string(), replayed: z.boolean(), attempts: z.int() });
type Action = z.infer<typeof Action>;

const RawResult = z.looseObject({
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
  structuredContent: Json.optional(),
  isError: z.boolean().optional(),
  _meta: Json.optional(),
});

export interface CallResult {
  readonly isError: boolean;
  /** The text of all blocks. */
  readonly text: string;
  /** Number of content blocks of any type. */
  readonly blocks: number;
  /** Link targets of the blocks after the first one. */
  readonly links: readonly string[];
  readonly structured: Json | undefined;
  /** `_meta["mic-mcp/view"]`: the data of a view. */
  readonly view: Json | undefined;
  /** Only for tools that perform an action. */
  readonly action: Action | undefined;
  readonly meta: Json;
  /** `_meta["mic-mcp/error"]`, validated against docs/interface.md. */
  readonly error: Facts | undefined;
  /** The complete result as JSON, for searches. */
  readonly raw: string;
}

/** Reads a result of `tools/call` from any client. */
export function readResult(result: unknown): CallResult {
  const { content, structuredContent, isError = false, _meta = {} } = RawResult.parse(result);
  const facts = _meta["mic-mcp/error"];
  const action = structuredContent?.["action"];
  return {
    isError,
    text: content.map(({ text = "" }) => text).join("\n"),
    blocks: content.length,
    links: content.slice(1).map(({ type, uri }) => (type === "resource_link" ? String(uri) : `no link: ${type}`)),
    structured: structuredContent,
    view: Json.optional().parse(_meta["mic-mcp/view"]),
    action: action === undefined ? undefined : Action.parse(action),
    meta: _meta,
    error: facts === undefined ? undefined : Facts.parse(facts),
    raw: JSON.stringify(result),
  };
}
