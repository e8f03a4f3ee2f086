// What telemetry learns of the requests of one server. The SDK hands every handler through one hook, and reads pass the SDK by:
// both are wrapped here, and only where there is telemetry.
import { type Result, Server, type ServerContext } from "@modelcontextprotocol/server";
import { isJsonObject } from "../contract/json.ts";
import { OTHER } from "../telemetry/names.ts";
import type { Network, Operation, Telemetry } from "../telemetry/port.ts";
import type { ReadCall } from "./messages/reads.ts";
import { offeredPrompts } from "./prompts.ts";
import type { Runtime } from "./runtime.ts";

/** The kind of failure that a result tells of; undefined where it tells of none. */
function kindOf(result: Result): string | undefined {
  if (result["isError"] !== true) return undefined;
  const facts = result._meta?.["mic-mcp/error"];
  const kind = isJsonObject(facts) ? facts["kind"] : undefined;
  return typeof kind === "string" ? kind : OTHER;
}

/** A client may ask for any name: only those that there are become attributes. */
const among = (names: ReadonlySet<unknown>, name: unknown): string =>
  typeof name === "string" && names.has(name) ? name : OTHER;

type Options = ConstructorParameters<typeof Server>[1];

interface Observing {
  readonly telemetry: Telemetry;
  readonly runtime: Runtime;
  readonly network: Network;
}

/** A server whose requests are told to telemetry, and what tells of a read that passes it by. */
export function observedServer(
  { telemetry, runtime, network }: Observing,
  info: ConstructorParameters<typeof Server>[0],
  options: Options,
) {
  const tools = new Set<unknown>(runtime.tools.map(({ name }) => name));
  const prompts = new Set<unknown>(offeredPrompts(runtime).map(({ name }) => name));

  class ObservedServer extends Server {
    protected override _wrapHandler(...[method, handler]: Parameters<Server["_wrapHandler"]>) {
      const inner = super._wrapHandler(method, handler);
      return async (request: Parameters<typeof inner>[0], context: ServerContext): Promise<Result> => {
        const { id, _meta: meta } = context.mcpReq;
        const name = request.params?.["name"];
        const operation: Operation = {
          method,
          tool: method === "tools/call" ? among(tools, name) : undefined,
          prompt: method === "prompts/get" ? among(prompts, name) : undefined,
          id,
          network,
          version: () => this.getNegotiatedProtocolVersion(),
          meta,
        };
        return await telemetry.operation(operation, () => inner(request, context), kindOf);
      };
    }
  }

  const server = new ObservedServer(info, options);
  return {
    server,
    read: ({ id, name, envelope }: ReadCall, run: () => Promise<Result>): Promise<Result> =>
      telemetry.operation(
        {
          method: "tools/call",
          tool: among(tools, name),
          id,
          network,
          version: () => server.getNegotiatedProtocolVersion(),
          meta: envelope,
        },
        run,
        kindOf,
      ),
  };
}
