// The names of spans, attributes and metrics: the semantic conventions for MCP as open-telemetry/semantic-conventions-genai had
// them on 2026-11-21 (status Development: they may change), those for HTTP (stable), and our own, which begin with "mic.".

export const ATTRIBUTE = {
  method: "mcp.method.name",
  version: "mcp.protocol.version",
  network: "network.transport",
  request: "jsonrpc.request.id",
  operation: "gen_ai.operation.name",
  tool: "gen_ai.tool.name",
  prompt: "gen_ai.prompt.name",
  errorType: "error.type",
  rpcStatus: "rpc.response.status_code",
  httpMethod: "http.request.method",
  httpStatus: "http.response.status_code",
  resends: "http.request.resend_count",
  template: "url.template",
  address: "server.address",
  port: "server.port",
  errorKind: "mic.error.kind",
  actionState: "mic.action.state",
  actionReplayed: "mic.action.replayed",
  actionAttempts: "mic.action.attempts",
  team: "mic.team",
  caller: "mic.caller",
  client: "mic.client",
} as const;

export const EXECUTE_TOOL = "execute_tool";
/** A result with `isError`. */
export const TOOL_ERROR = "tool_error";
/** Stands for a name that a client made up, and for each team after the hundredth. */
export const OTHER = "_OTHER";

/** Histograms, in seconds, with the bounds that the conventions ask for. */
const OPERATION_BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
export const HISTOGRAMS = {
  operation: {
    name: "mcp.server.operation.duration",
    about: "How long an MCP request took to be served",
    bounds: OPERATION_BOUNDS,
  },
  session: {
    name: "mcp.server.session.duration",
    about: "How long a connection or a session lasted",
    bounds: OPERATION_BOUNDS,
  },
  exchange: {
    name: "http.client.request.duration",
    about: "How long a request to the service took",
    bounds: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
  },
} as const;

export const COUNTERS = {
  outcomes: { name: "mic.action.outcomes", about: "Calls of action tools, by how the action stood at their end" },
  tokens: { name: "mic.token.fetches", about: "Requests for an access token" },
} as const;

/** Each is read when metrics are collected; those whose part a way of serving lacks are not there. */
export const GAUGES = {
  "mic.watched.resources": { about: "Resources that are watched for those who listen", unit: "{resource}" },
  "mic.http.streams": { about: "Streams that are open to clients", unit: "{stream}" },
  "mic.geography.permits": { about: "Geography requests that may leave now", unit: "{request}" },
  "mic.service.rest": { about: "How long the team that the service told to wait longest still waits", unit: "s" },
  "mic.database.waiting": { about: "Statements that wait for a connection to the database", unit: "{request}" },
} as const;
export type GaugeName = keyof typeof GAUGES;

/** Facts of a log line that leave: numbers and names of ours, never a key, an id or a reason, which may quote anybody. */
export const LOGGED: Readonly<Record<string, "number" | "word">> = {
  call: "number",
  ms: "number",
  attempt: "number",
  attempts: "number",
  status: "number",
  maxSessions: "number",
  maxConnections: "number",
  sessionIdleMs: "number",
  tool: "word",
  kind: "word",
  operation: "word",
  trouble: "word",
  method: "word",
};
