// Answers tool calls without the SDK's handlers, whose checks of a request and its result take longer than a read itself
// (bench/README.md). All transports use it: for revisions before 2026-07-28, and for 2026-07-28 over HTTP.
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type JSONRPCMessage,
  type JSONRPCResultResponse,
  PROTOCOL_VERSION_META_KEY,
  type RequestId,
  SERVER_INFO_META_KEY,
  Server,
  type Transport,
} from "@modelcontextprotocol/server";
import { isJsonObject, memberAt } from "../contract/json.ts";
import { errorMessage } from "../core/failure.ts";
import type { Network } from "../telemetry/port.ts";
import type { ResourceReference } from "../toolkit/uri.ts";
import { withReadableIssues } from "./invalid-params.ts";
import { canceledId } from "./messages.ts";
import { resourceLink } from "./resources/resources.ts";
import type { Runtime } from "./runtime.ts";
import { serverInfo, TASKS_EXTENSION } from "./server-info.ts";
import { errorKindOf } from "./tools/answer.ts";
import { callTool } from "./tools/call.ts";
import type { Confirmation } from "./tools/confirmation.ts";

export interface DirectCall {
  readonly id: RequestId;
  /** Resolves with the response; with undefined if the call was aborted, because a canceled request has no response. */
  run(session?: string): Promise<JSONRPCResultResponse | undefined>;
  abort(): void;
}

/** The client of a revision before 2026-07-28. In 2026-07-28, each request contains these values. */
export interface Client {
  readonly version: string | undefined;
  readonly name?: string | undefined;
  readonly capabilities?: unknown;
}

/** Returns undefined if the SDK has to handle the message. Without `client`, the message must be a valid one of 2026-07-28. */
export type FindDirectCall = (message: JSONRPCMessage, client?: Client) => DirectCall | undefined;

const FIRST_WITH_LINKS = "2025-06-18";

/** Whether a client of this revision accepts resource_link. */
export const supportsLinks = (version = FIRST_WITH_LINKS): boolean => version >= FIRST_WITH_LINKS;

export function clientNameOf(client: unknown): string | undefined {
  const name = memberAt(client, "name");
  return typeof name === "string" ? name : undefined;
}

/** Returns the call of a tool that asks for nothing but a result; undefined for every other message. */
function readPlainCall(message: JSONRPCMessage) {
  if (!("method" in message) || message.method !== "tools/call" || !("id" in message)) return undefined;
  const { name, arguments: args = {}, _meta: meta, ...others } = message.params ?? {};
  const isPlain = typeof name === "string" && isJsonObject(args) && Object.keys(others).length === 0;
  return isPlain && meta?.progressToken === undefined ? { id: message.id, name, args, meta } : undefined;
}

/** Returns undefined for a client that supports tasks, because the answer may be a task. */
function readEnvelope(meta: Readonly<Record<string, unknown>>): Client | undefined {
  const { [PROTOCOL_VERSION_META_KEY]: version, [CLIENT_CAPABILITIES_META_KEY]: capabilities } = meta;
  const tasks = memberAt(capabilities, "extensions", TASKS_EXTENSION);
  if (typeof version !== "string" || tasks !== undefined) return undefined;
  return { version, name: clientNameOf(meta[CLIENT_INFO_META_KEY]), capabilities };
}

export function createDirectCalls(
  runtime: Runtime,
  { confirmation, network }: { readonly confirmation: Confirmation; readonly network: Network },
): FindDirectCall {
  const { offered, telemetry, version: ownVersion } = runtime;
  const info = serverInfo(ownVersion);
  const linkOf = (reference: ResourceReference) => resourceLink(reference, runtime);
  return (message, legacyClient) => {
    const call = readPlainCall(message);
    const tool = call && offered.get(call.name);
    if (!tool || (legacyClient && call.meta !== undefined)) return undefined;
    const { id, args, meta } = call;
    const client = legacyClient ?? (meta && readEnvelope(meta));
    if (!client || confirmation.mayAsk(tool, client.capabilities)) return undefined;
    const { version } = client;
    const controller = new AbortController();
    const { signal } = controller;
    return {
      id,
      abort: () => controller.abort(),
      async run(session) {
        const request = { id, session, client: client.name, signal, report: () => undefined };
        const environment = { runtime, request, linkOf: supportsLinks(version) ? linkOf : undefined };
        const serve = () => callTool(tool, args, environment);
        const operation = { method: "tools/call", tool: tool.name, id, network, version: () => version, meta };
        const result = await (telemetry?.traceOperation(operation, serve, errorKindOf) ?? serve());
        if (signal.aborted) return undefined;
        const _meta = { ...result._meta, [SERVER_INFO_META_KEY]: info };
        return { result: legacyClient ? result : { ...result, _meta, resultType: "complete" }, jsonrpc: "2.0", id };
      },
    };
  };
}

/** Sends the response to the transport, unless the call is aborted. */
export async function answerCall(call: DirectCall, transport: Transport): Promise<void> {
  const response = await call.run(transport.sessionId);
  if (response) await transport.send(response);
}

export class DirectCallServer extends Server {
  /** Set for revisions before 2026-07-28. */
  findDirectCall: ((message: JSONRPCMessage) => DirectCall | undefined) | undefined;
  readonly #inFlight = new Map<RequestId, DirectCall>();

  protected override _wrapHandler(...[method, handler]: Parameters<Server["_wrapHandler"]>) {
    const inner = super._wrapHandler(method, handler);
    const wrapped: typeof inner = async (request, context) => {
      try {
        return await inner(request, context);
      } catch (error) {
        throw withReadableIssues(method, error);
      }
    };
    return wrapped;
  }

  override async connect(transport: Transport): Promise<void> {
    await super.connect(transport);
    const passToSdk = transport.onmessage;
    transport.onmessage = (message, extra) => {
      if (this.begin(message, transport)) return;
      const canceled = canceledId(message);
      if (canceled !== undefined) this.#inFlight.get(canceled)?.abort();
      passToSdk?.(message, extra);
    };
  }

  /** Returns true if this message is a call that is answered here. A transport may call it before the SDK gets the message. */
  begin(message: JSONRPCMessage, transport: Transport): boolean {
    const call = this.findDirectCall?.(message);
    if (!call) return false;
    this.#inFlight.set(call.id, call);
    answerCall(call, transport)
      .catch((error: unknown) => this.onerror?.(new Error(`Failed to send response: ${errorMessage(error)}`)))
      .finally(() => this.#inFlight.delete(call.id));
    return true;
  }

  override _onclose(): void {
    super._onclose();
    for (const call of this.#inFlight.values()) call.abort();
  }
}
