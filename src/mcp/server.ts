// Creates the MCP server of one connection, for any supported protocol revision.
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ProtocolEra,
  type ServerContext,
  type ServerOptions,
} from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { withTimeoutFallback } from "../core/async.ts";
import { formatToken } from "../core/untrusted-text.ts";
import type { Network } from "../telemetry/port.ts";
import type { Tool } from "../toolkit/define-tool.ts";
import type { ResourceReference } from "../toolkit/uri.ts";
import { serveCompletion } from "./completion.ts";
import { clientNameOf, createDirectCalls, DirectCallServer, supportsLinks } from "./direct-calls.ts";
import { buildInstructions, unresolvedNotes } from "./instructions.ts";
import { invalidParams } from "./invalid-params.ts";
import { createObservedServer } from "./observed-server.ts";
import { servePrompts } from "./prompts.ts";
import { resourceLink, serveResources } from "./resources/resources.ts";
import { type Subscriptions, serveSubscriptions } from "./resources/subscriptions.ts";
import type { Runtime } from "./runtime.ts";
import { CACHE_HINTS, serverCapabilities, serverInfo } from "./server-info.ts";
import { serveSkills } from "./skills.ts";
import { createJobTasks } from "./tasks/job-tasks.ts";
import { clientSupportsTasks, serveTasks } from "./tasks/serve.ts";
import { callTool, createProgressReporter } from "./tools/call.ts";
import type { Confirmation } from "./tools/confirmation.ts";
import { filterVisibleTools, reasonNotOffered, toListedTool } from "./tools/offered-tools.ts";

/** The workspace of the stored login makes `workspaceId` optional in listings. A slow keychain must not delay a connection. */
const WORKSPACE_WAIT_MS = 1_000;

const workspaceWithTimeout = ({ workspaceId }: Runtime): Promise<string | undefined> =>
  withTimeoutFallback(workspaceId(), undefined, WORKSPACE_WAIT_MS);

/** A journal that cannot be read within this time must not delay a connection. */
const JOURNAL_WAIT_MS = 1_000;
const NONE_UNRESOLVED = { unknown: 0, ofOtherClients: 0 };

const envelopeOf = ({ mcpReq }: ServerContext): Readonly<Record<string, unknown>> => ({ ...mcpReq.envelope });

/** Parses the params after the SDK, whose result omits an argument named __proto__. That argument is refused like any unknown one. */
const CallParams = z.looseObject({ name: z.string(), arguments: z.unknown().optional() });

/** The parts of a connection that outlive one server: the SDK may create a second one when it detects the client's revision. */
export interface Connection {
  /** Absent if the client has no stream for updates; subscriptions are then not offered. */
  readonly subscriptions?: Subscriptions;
  /** The revision of a client that did not initialize this server. */
  readonly protocolVersion?: string;
  readonly confirmation: Confirmation;
  readonly network: Network;
  /** Whether `initialize` or `server/discover` may ask this server for its instructions (default false: it has none). */
  readonly isFirst?: boolean;
}

async function writeInstructions(runtime: Runtime): Promise<string> {
  const { offered, notes } = runtime;
  const [workspaceId, unresolved] = await Promise.all([
    workspaceWithTimeout(runtime),
    offered.has("resolve_actions")
      ? withTimeoutFallback(runtime.countUnresolved(), NONE_UNRESOLVED, JOURNAL_WAIT_MS)
      : NONE_UNRESOLVED,
  ]);
  return buildInstructions([...offered.values()], workspaceId, [...unresolvedNotes(unresolved), ...notes]);
}

export async function createServer(
  runtime: Runtime,
  connection: Connection,
  protocolEra: ProtocolEra,
): Promise<DirectCallServer> {
  const { subscriptions, confirmation } = connection;
  const { tools, offered, config, version, telemetry } = runtime;
  const linkOf = (reference: ResourceReference) => resourceLink(reference, runtime);
  const info = serverInfo(version);
  const tasks =
    // Tasks require get_job, and only this revision has them.
    protocolEra === "modern" && offered.has("get_job") ? createJobTasks(runtime, linkOf) : undefined;

  const options: ServerOptions = {
    capabilities: serverCapabilities({
      subscriptions: subscriptions !== undefined,
      tasks: tasks !== undefined,
    }),
    requestState: { verify: confirmation.verify },
    ...(connection.isFirst === true && { instructions: await writeInstructions(runtime) }),
    cacheHints: CACHE_HINTS,
  };
  const server = telemetry
    ? createObservedServer({ telemetry, runtime, ...connection }, info, options)
    : new DirectCallServer(info, options);
  const capabilitiesOf = (context: ServerContext): unknown =>
    protocolEra === "modern" ? envelopeOf(context)[CLIENT_CAPABILITIES_META_KEY] : server.getClientCapabilities();
  const visibleTools = (context: ServerContext): readonly Tool[] =>
    filterVisibleTools([...offered.values()], capabilitiesOf(context));
  server.setRequestHandler("tools/list", async (_, context) => {
    const workspaceId = await workspaceWithTimeout(runtime);
    return {
      tools: visibleTools(context).map((tool) => toListedTool(tool, workspaceId, (name) => offered.has(name))),
    };
  });
  const protocolVersion = (): string | undefined => server.getNegotiatedProtocolVersion() ?? connection.protocolVersion;
  /** In 2026-07-28, each request contains the client's name. */
  const readClientName = (envelope: Readonly<Record<string, unknown>>): string | undefined =>
    clientNameOf(protocolEra === "modern" ? envelope[CLIENT_INFO_META_KEY] : server.getClientVersion());
  if (protocolEra === "legacy") {
    const findDirectCall = createDirectCalls(runtime, connection);
    server.findDirectCall = (message) =>
      findDirectCall(message, {
        version: protocolVersion(),
        name: readClientName({}),
        capabilities: server.getClientCapabilities(),
      });
  }
  server.setRequestHandler("tools/call", { params: CallParams }, async (params, context) => {
    const tool = offered.get(params.name);
    const { id, signal } = context.mcpReq;
    if (tool)
      return await callTool(tool, params.arguments, {
        runtime,
        request: {
          ...{ id, session: context.sessionId, client: readClientName(envelopeOf(context)), signal },
          report: createProgressReporter(context),
        },
        ...(confirmation.mayAsk(tool, capabilitiesOf(context)) && {
          requestConsent: (question, args, ctx) => confirmation.requestConsent(question, args, context, ctx),
        }),
        linkOf: supportsLinks(protocolVersion()) ? linkOf : undefined,
        createTask: clientSupportsTasks(context) ? tasks?.createTask : undefined,
      });
    const hidden = tools.find(({ name }) => name === params.name);
    const names = visibleTools(context).map(({ name }) => name);
    const fileLead = /file/i.test(params.name) ? ". No tool lists files: ask the user for the id" : "";
    const why = hidden ? reasonNotOffered(hidden, config) : `the tools are: ${names.join(", ")}${fileLead}`;
    throw invalidParams(`Unknown tool ${formatToken(params.name)}: ${why}`);
  });
  serveResources(server, runtime, protocolEra);
  if (subscriptions) serveSubscriptions(server, runtime, subscriptions, protocolEra);
  if (tasks) serveTasks(server, tasks);
  serveSkills(server, runtime.skills, protocolEra);
  servePrompts(server, runtime);
  serveCompletion(server, runtime);
  return server;
}
