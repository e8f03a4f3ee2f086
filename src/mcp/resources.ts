// What a client may read besides calling tools: a resource is data and a read function (interface.md, "Resources").
import {
  type Resource as ListedResource,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type Server,
} from "@modelcontextprotocol/server";
import { DEFAULT_LIMIT, listActions } from "../actions/listing.ts";
import type { Toolset } from "../config.ts";
import { factsOf, failureText } from "./failures.ts";
import type { Runtime } from "./runtime.ts";

interface Resource extends Omit<ListedResource, "mimeType"> {
  readonly toolset: Toolset;
  /** The content, to be shown as JSON. Throws Failure. */
  read(runtime: Runtime): Promise<object>;
}

const RESOURCES: readonly Resource[] = [
  {
    uri: "mic://actions",
    name: "actions",
    title: "The action journal",
    description: "The latest actions: tool, key, state, attempts, times. The tool list_actions says the same.",
    toolset: "jobs",
    async read({ journal, serviceName, service }) {
      const name = await serviceName().catch(() => undefined);
      const asked = { service: name, state: undefined, limit: DEFAULT_LIMIT, now: service.timing.now() };
      return { actions: await listActions(await journal(), asked) };
    },
  },
];

const MIME_TYPE = "application/json";

/** The resources that a configuration offers. */
export const offeredResources = ({ config }: Runtime): readonly Resource[] =>
  RESOURCES.filter(({ toolset }) => config.toolsets.includes(toolset));

export function serveResources(server: Server, runtime: Runtime): void {
  const offered = offeredResources(runtime);
  const listing = offered.map(({ toolset: _, read: __, ...shown }) => ({ ...shown, mimeType: MIME_TYPE }));
  server.setRequestHandler("resources/list", () => ({ resources: listing }));
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: [] }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }) => {
    const resource = offered.find((candidate) => candidate.uri === uri);
    if (!resource) throw new ResourceNotFoundError(uri);
    try {
      const text = runtime.redactor.redact(JSON.stringify(await resource.read(runtime)));
      return { contents: [{ uri, mimeType: MIME_TYPE, text }] };
    } catch (error) {
      const facts = factsOf(error);
      const message = runtime.redactor.redact(failureText(uri, facts));
      throw new ProtocolError(ProtocolErrorCode.InternalError, message, { "mic-mcp/error": facts });
    }
  });
}
