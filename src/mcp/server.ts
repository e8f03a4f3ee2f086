// The MCP server: one instance for each connection, whatever protocol era it speaks.
import { setTimeout as sleep } from "node:timers/promises";
import {
  CLIENT_CAPABILITIES_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { word } from "../outside.ts";
import type { Tool } from "../toolkit/define-tool.ts";
import { instructions } from "./instructions.ts";
import { servePrompts } from "./prompts.ts";
import { serveCompletion } from "./resources/completion.ts";
import { type Era, serveResources } from "./resources/resources.ts";
import { type Subscriptions, serveSubscriptions } from "./resources/subscriptions.ts";
import type { Runtime } from "./runtime.ts";
import { CACHE_HINTS, capabilities, serverInfo } from "./server-info.ts";
import { serveSkills } from "./skills/serve.ts";
import { createJobTasks } from "./tasks/job-tasks.ts";
import { serveTasks, takesTasks } from "./tasks/serve.ts";
import { callTool } from "./tools/call.ts";
import type { Confirmation } from "./tools/confirmation.ts";
import type { Deliveries } from "./tools/deliveries.ts";
import { hasTasks, listed, offeredTools, whyNotOffered } from "./tools/offered-tools.ts";

const FIRST_WITH_LINKS = "2025-06-18";

/** The stored login's workspace makes `workspaceId` optional in listings; a slow keychain must not hold up a connection. */
const WORKSPACE_WAIT_MS = 1_000;

const knownSoon = ({ workspaceId }: Runtime): Promise<string | undefined> =>
  Promise.race([workspaceId().catch(() => undefined), sleep(WORKSPACE_WAIT_MS, undefined, { ref: false })]);

const envelopeOf = ({ mcpReq }: ServerContext): Readonly<Record<string, unknown>> => ({ ...mcpReq.envelope });

/** Looked at once the SDK has found the request in order: its own reading drops an argument named __proto__, which is as unknown as any. */
const CallParams = z.looseObject({ name: z.string(), arguments: z.unknown().optional() });

/** What a connection has besides its server: the SDK may make a second server for it when it learns the client's era. */
export interface Connection {
  readonly deliveries: Deliveries;
  readonly subscriptions: Subscriptions;
  readonly confirmation: Confirmation;
}

export async function createServer(runtime: Runtime, connection: Connection, era: Era): Promise<Server> {
  const { deliveries, subscriptions, confirmation } = connection;
  const { catalogue, config, notes, version } = runtime;
  const workspaceId = await knownSoon(runtime);
  const offered = new Map<string, Tool>(offeredTools(catalogue, config).map((tool) => [tool.name, tool]));
  const tasks = era === "modern" && hasTasks(catalogue, config) ? createJobTasks(runtime) : undefined;

  const server = new Server(serverInfo(version), {
    capabilities: capabilities(tasks !== undefined),
    requestState: { verify: confirmation.verify },
    instructions: instructions(config, workspaceId, notes),
    cacheHints: CACHE_HINTS,
  });
  server.setRequestHandler("tools/list", async () => {
    const known = workspaceId ?? (await knownSoon(runtime));
    return { tools: [...offered.values()].map((tool) => listed(tool, known)) };
  });
  server.setRequestHandler("tools/call", { params: CallParams }, async (params, context) => {
    const tool = offered.get(params.name);
    const takesLinks = (server.getNegotiatedProtocolVersion() ?? FIRST_WITH_LINKS) >= FIRST_WITH_LINKS;
    const said = era === "modern" ? envelopeOf(context)[CLIENT_CAPABILITIES_META_KEY] : server.getClientCapabilities();
    if (tool)
      return await callTool(tool, params.arguments, {
        runtime,
        deliveries,
        context,
        takesLinks,
        confirmation,
        capabilities: said,
        tasks: takesTasks(context) ? tasks : undefined,
      });
    const hidden = catalogue.find(({ name }) => name === params.name);
    const why = hidden ? whyNotOffered(hidden, config) : `the tools are: ${[...offered.keys()].join(", ")}`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool ${word(params.name)}: ${why}`);
  });
  serveResources(server, runtime, era);
  serveSubscriptions(server, runtime, subscriptions, era);
  if (tasks) serveTasks(server, tasks);
  serveSkills(server, runtime.skills, era);
  servePrompts(server, runtime);
  serveCompletion(server, runtime);
  return server;
}
