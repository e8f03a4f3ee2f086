// Reports the requests of one server to telemetry. The SDK passes every handler through one hook, which is overridden here.
import type { Result, Server, ServerContext } from "@modelcontextprotocol/server";
import { type Network, type Operation, OTHER, type Telemetry } from "../telemetry/port.ts";
import { DirectCallServer } from "./direct-calls.ts";
import { offeredPrompts } from "./prompts.ts";
import type { Runtime } from "./runtime.ts";
import { errorKindOf } from "./tools/answer.ts";

/** A client may send any name; only the names that exist become attributes. */
const knownNameOrOther = (names: ReadonlySet<unknown>, name: unknown): string =>
  typeof name === "string" && names.has(name) ? name : OTHER;

interface ObservedServerOptions {
  readonly telemetry: Telemetry;
  readonly runtime: Runtime;
  readonly network: Network;
  /** The revision of a client that did not initialize this server. */
  readonly protocolVersion?: string;
}

export function createObservedServer(
  { telemetry, runtime, network, protocolVersion }: ObservedServerOptions,
  ...[info, options]: ConstructorParameters<typeof Server>
): DirectCallServer {
  const tools = new Set<unknown>(runtime.tools.map(({ name }) => name));
  const prompts = new Set<unknown>(offeredPrompts(runtime).map(({ name }) => name));

  class ObservedServer extends DirectCallServer {
    protected override _wrapHandler(...[method, handler]: Parameters<Server["_wrapHandler"]>) {
      const inner = super._wrapHandler(method, handler);
      return async (request: Parameters<typeof inner>[0], context: ServerContext): Promise<Result> => {
        const { id, _meta: meta } = context.mcpReq;
        const name = request.params?.["name"];
        const operation: Operation = {
          method,
          tool: method === "tools/call" ? knownNameOrOther(tools, name) : undefined,
          prompt: method === "prompts/get" ? knownNameOrOther(prompts, name) : undefined,
          id,
          network,
          version: () => this.getNegotiatedProtocolVersion() ?? protocolVersion,
          meta,
        };
        return await telemetry.traceOperation(operation, () => inner(request, context), errorKindOf);
      };
    }
  }

  return new ObservedServer(info, options);
}
