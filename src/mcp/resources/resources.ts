// Serves resources/list, resources/templates/list and resources/read. The resources are defined in src/toolkit/resources/.

import {
  type ContentBlock,
  type ProtocolEra,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  ResourceNotFoundError,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { CALL_LIMIT_MS } from "../../api-client/attempts.ts";
import { isWellFormed } from "../../contract/scalars.ts";
import { errorMessage, type FailureFacts } from "../../core/failure.ts";
import type { Reader } from "../../core/text.ts";
import { formatToken } from "../../core/untrusted-text.ts";
import type { Resource } from "../../toolkit/resources/resource.ts";
import { renderResult } from "../../toolkit/results.ts";
import { expand, matchTemplate, type ResourceReference, type UriVariables, variableNames } from "../../toolkit/uri.ts";
import { APP_HTML, VIEW_NAMES, viewUri } from "../../toolkit/views.ts";
import type { Runtime } from "../runtime.ts";
import { MARKDOWN, skillCacheHints } from "../skills.ts";
import { factsOf, fieldTexts, reportFailure, resultMeta, toolNotFound } from "../tools/answer.ts";
import { agentReaderOf, createToolContext } from "../tools/call.ts";

export interface ResourceMatch {
  readonly resource: Resource;
  readonly variables: UriVariables;
}

export function findResource(uri: string, { resources }: Runtime): ResourceMatch | undefined {
  for (const resource of resources) {
    const variables = matchTemplate(resource.uri, uri);
    if (variables) return { resource, variables };
  }
  return undefined;
}

export const resourceNotFound = (uri: string, why: string): ProtocolError =>
  new ResourceNotFoundError(uri, `Resource not found: ${formatToken(uri)}. ${why}`);

/** Throws ProtocolError if the URI does not name an offered resource. */
export function requireResource(uri: string, runtime: Runtime): ResourceMatch {
  const found = findResource(uri, runtime);
  if (found) return found;
  throw resourceNotFound(uri, `The URIs are: ${runtime.resources.map((resource) => resource.uri).join(", ")}.`);
}

/** True if the API has no resource at this URI, or the URI is not valid. */
const isMissing = ({ kind }: FailureFacts): boolean => kind === "not_found" || kind === "invalid_arguments";

function toProtocolError(uri: string, facts: FailureFacts, reader: Reader): ProtocolError {
  const { report, text } = reportFailure(formatToken(uri), facts, reader, false);
  if (isMissing(facts)) {
    const fields = fieldTexts(facts, reader).map((field) => field.replace(/^\//, ""));
    return resourceNotFound(uri, [report.message, ...fields].join(" "));
  }
  return new ProtocolError(ProtocolErrorCode.InternalError, text, { uri, "mic-mcp/error": report });
}

const toResourceMetadata = ({ name, title, description, mimeType }: Resource) => ({
  name,
  title,
  description,
  mimeType,
});

/** Lists a resource that has no variables, or whose only variable is the default workspace. */
function listResource(resource: Resource, workspaceId: string | undefined) {
  const names = variableNames(resource.uri);
  if (names.length === 0) return [{ uri: resource.uri, ...toResourceMetadata(resource) }];
  if (workspaceId === undefined || names.join() !== "workspaceId") return [];
  return [{ uri: expand(resource.uri, { workspaceId }), ...toResourceMetadata(resource) }];
}

const HOUR_MS = 3_600_000;

/** Hosts read a view before they show it, and expect that resources/list does not contain views. */
async function readView(
  uri: string,
  { offered, readView: read }: Runtime,
  protocolEra: ProtocolEra,
): Promise<ReadResourceResult | undefined> {
  const name = VIEW_NAMES.find((each) => viewUri(each) === uri);
  if (name === undefined || ![...offered.values()].some(({ view }) => view === name)) return undefined;
  // The empty CSP denies all network access: a view needs no origin except its own frame.
  const _meta = { ui: { csp: {}, prefersBorder: true } };
  return {
    contents: [{ uri, mimeType: APP_HTML, text: await read(name), _meta }],
    ...(protocolEra === "modern" && { ttlMs: HOUR_MS, cacheScope: "public" }),
  };
}

export async function readResource(
  uri: string,
  runtime: Runtime,
  context: ServerContext,
  protocolEra: ProtocolEra,
): Promise<ReadResourceResult> {
  const { ports, skills } = runtime;
  if (uri.startsWith("skill:")) {
    const text = await skills.read(uri);
    if (text !== undefined) return { contents: [{ uri, mimeType: MARKDOWN, text }], ...skillCacheHints(protocolEra) };
  }
  const view = await readView(uri, runtime, protocolEra);
  if (view) return view;
  const { resource, variables } = requireResource(uri, runtime);
  const limits = { signal: context.mcpReq.signal, deadlineAt: ports.api.timing.clockMs() + CALL_LIMIT_MS };
  try {
    const { text, drift, ttlMs } = await resource.read(variables, {
      async useTool(name, args) {
        const tool = runtime.offered.get(name);
        if (tool?.effect !== "read") throw toolNotFound(name);
        const result = await tool.run(args, createToolContext(runtime, name, limits));
        return { ...result, structured: renderResult(result, agentReaderOf(runtime)).structured };
      },
      ports,
      context: limits,
    });
    return {
      contents: [{ uri, mimeType: resource.mimeType, text, _meta: resultMeta({ drift }) }],
      ...(protocolEra === "modern" && { ttlMs, cacheScope: resource.cacheScope }),
    };
  } catch (error) {
    throw toProtocolError(uri, factsOf(error), agentReaderOf(runtime));
  }
}

/** Undefined if the resource is not offered, or if its id has a lone surrogate and therefore no URI (open question 23). */
export function resourceLink(
  { template, variables }: ResourceReference,
  { resources }: Runtime,
): ContentBlock | undefined {
  const resource = resources.find(({ uri }) => uri === template);
  if (!resource || !Object.values(variables).every(isWellFormed)) return undefined;
  const { name, title, mimeType } = resource;
  return { name, title, uri: expand(template, variables), mimeType, type: "resource_link" };
}

export function serveResources(server: Server, runtime: Runtime, protocolEra: ProtocolEra): void {
  server.setRequestHandler("resources/list", async () => {
    // If the login cannot be read, the list omits the resources of the default workspace.
    const workspaceId = await runtime.workspaceId().catch(() => undefined);
    const resources = runtime.resources.flatMap((resource) => listResource(resource, workspaceId));
    const skills = await runtime.skills.resources().catch((error: unknown) => {
      runtime.log.error({ reason: errorMessage(error) }, "the skills could not be read");
      return [];
    });
    return { resources: [...resources, ...skills] };
  });
  server.setRequestHandler("resources/templates/list", async () => ({
    resourceTemplates: runtime.resources
      .filter(({ uri }) => variableNames(uri).length > 0)
      .map((resource) => ({ uriTemplate: resource.uri, ...toResourceMetadata(resource) })),
  }));
  server.setRequestHandler("resources/read", ({ params }, context) =>
    readResource(params.uri, runtime, context, protocolEra),
  );
}
