// A server that a developer could write in a day: the v1 SDK with one tool for each of the 18 operations, arguments in zod and
// one undici call each. It returns each response without parsing it. A POST has an Idempotency-Key, but the server does not store
// it.
import { randomUUID } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Pool } from "undici";
import * as z from "zod/v4";
import { serve } from "./serve.mjs";

const PLAYGROUND = "/api/svc/core/developers/playground/v1";
const JOBS = "/sandbox/v1/mic";
const pool = new Pool(process.env.BASE_URL, { connections: 32 });

async function send(method, path, { query = {}, body, headers = {} } = {}) {
  const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined));
  const answer = await pool.request({
    method,
    path: asked.size === 0 ? path : `${path}?${asked}`,
    headers: { accept: "application/json", ...(body && { "content-type": "application/json" }), ...headers },
    body: body && JSON.stringify(body),
  });
  const text = await answer.body.text();
  return { content: [{ type: "text", text }], isError: answer.statusCode >= 400 };
}

const get = (path, query) => send("GET", path, { query });
const post = (path, body, { idempotencyKey = randomUUID(), ifMatch } = {}) =>
  send("POST", path, { body, headers: { "idempotency-key": idempotencyKey, ...(ifMatch && { "if-match": ifMatch }) } });
const inPath = (id) => encodeURIComponent(id);

const id = z.string().min(1).max(128);
const workspace = { workspaceId: id.describe("The workspace") };
const page = { limit: z.number().int().min(1).max(100).optional(), cursor: z.string().optional() };
const key = { idempotencyKey: z.string().optional().describe("Names the action; repeat it to try again") };
const reason = { reason: z.string().min(1).max(1000) };

/** Name, description, arguments and handler of each tool. */
const TOOLS = [
  ["list_states", "All states and union territories.", {}, () => get(`${PLAYGROUND}/geo/states`)],
  [
    "list_districts",
    "The districts of a state.",
    { state: z.string().regex(/^[A-Za-z]{2}$/) },
    ({ state }) => get(`${PLAYGROUND}/geo/districts`, { state }),
  ],
  ["get_openapi", "The playground's OpenAPI document.", {}, () => get(`${PLAYGROUND}/openapi.json`)],
  ["get_capabilities", "What a workspace may do.", workspace, (query) => get(`${JOBS}/capabilities`, query)],
  [
    "register_input",
    "Registers a file, acquisition or dataset version as an input.",
    {
      ...workspace,
      inputKind: z.enum(["M4_FILE", "ACQUISITION", "DATASET_VERSION"]),
      referenceId: id,
      alias: z.string().max(160).optional(),
      clientReference: z.string().max(160).optional(),
      ...key,
    },
    ({ idempotencyKey, ...body }) => post(`${JOBS}/inputs`, body, { idempotencyKey }),
  ],
  ["get_input", "One input.", { inputId: id }, ({ inputId }) => get(`${JOBS}/inputs/${inPath(inputId)}`)],
  ["get_asset", "An asset.", { assetId: id }, ({ assetId }) => get(`${JOBS}/assets/${inPath(assetId)}/content`)],
  ["list_recipes", "Recipes that can be run.", { ...workspace, ...page }, (query) => get(`${JOBS}/recipes`, query)],
  [
    "get_recipe",
    "One version of a recipe.",
    { versionId: id },
    ({ versionId }) => get(`${JOBS}/recipe-versions/${inPath(versionId)}`),
  ],
  [
    "submit_job",
    "Runs a recipe on inputs.",
    {
      ...workspace,
      recipeVersionId: id,
      inputBindings: z
        .array(z.object({ port: z.string().max(80), inputId: id }))
        .min(1)
        .max(32),
      parameterValues: z.record(z.string(), z.unknown()),
      clientReference: z.string().max(160).optional(),
      ...key,
    },
    ({ idempotencyKey, ...body }) => post(`${JOBS}/jobs`, body, { idempotencyKey }),
  ],
  ["list_jobs", "Jobs, newest first.", { ...workspace, ...page }, (query) => get(`${JOBS}/jobs`, query)],
  ["get_job", "One job with its stages.", { jobId: id }, ({ jobId }) => get(`${JOBS}/jobs/${inPath(jobId)}`)],
  [
    "cancel_job",
    "Cancels a job.",
    { jobId: id, resourceVersion: z.string(), ...reason, ...key },
    ({ jobId, resourceVersion, idempotencyKey, ...body }) =>
      post(`${JOBS}/jobs/${inPath(jobId)}/cancellations`, body, { idempotencyKey, ifMatch: `"${resourceVersion}"` }),
  ],
  [
    "retry_job",
    "Runs a failed job again.",
    { jobId: id, retryMode: z.enum(["SAFE_RESUME", "RESTART"]), ...reason, ...key },
    ({ jobId, idempotencyKey, ...body }) => post(`${JOBS}/jobs/${inPath(jobId)}/retries`, body, { idempotencyKey }),
  ],
  [
    "get_operation",
    "One operation.",
    { operationId: id },
    ({ operationId }) => get(`${JOBS}/operations/${inPath(operationId)}`),
  ],
  [
    "get_usage",
    "What a workspace has used.",
    { ...workspace, window: z.enum(["DAY", "MONTH", "ENTITLEMENT"]) },
    (query) => get(`${JOBS}/usage`, query),
  ],
  [
    "request_processing",
    "Asks that a shared file be processed.",
    {
      ...workspace,
      inputId: id,
      recipeVersionId: id,
      recipeVersionHash: z.string().regex(/^[0-9a-f]{64}$/),
      purpose: z.string().min(1).max(160),
      expiresAt: z.string(),
      ...key,
    },
    ({ idempotencyKey, ...body }) => post(`${JOBS}/processing-requests`, body, { idempotencyKey }),
  ],
  [
    "get_processing_request",
    "One processing request.",
    { requestId: id },
    ({ requestId }) => get(`${JOBS}/processing-requests/${inPath(requestId)}`),
  ],
];

function makeServer() {
  const server = new McpServer({ name: "call-v1-18", version: "1.0.0" });
  for (const [name, description, inputSchema, run] of TOOLS)
    server.registerTool(name, { description, inputSchema }, run);
  return server;
}

await serve(makeServer);
