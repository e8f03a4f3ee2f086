// Implements a view's side of MCP Apps (SEP-1865, revision 2026-01-26): the messages to and from the host of this frame.
import { type Fields, fieldsOf, textOf } from "./values.ts";

const PROTOCOL = "2026-01-26";
const INITIALIZE_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 60_000;
/** Longer than other requests, because the host may ask the user during the call. */
const TOOL_TIMEOUT_MS = 120_000;
const SIZE_DEBOUNCE_MS = 100;

export interface HostEventHandlers {
  input(args: Fields): void;
  result(result: unknown): void;
  cancelled(reason: string): void;
  /** The host is about to remove the frame. */
  teardown(): void;
  context(context: Fields): void;
}

export interface Bridge {
  /** Resolves after initialization. Rejects if the host refuses or does not answer. */
  readonly ready: Promise<void>;
  /** Whether the host declares this capability. */
  can(what: "serverTools" | "updateModelContext" | "message" | "downloadFile"): boolean;
  /** Calls a tool. Rejects if the host refuses or does not answer: then the outcome of the call is unknown. */
  callTool(name: string, args: Fields): Promise<unknown>;
  /** Sends the agent a message of the user. */
  sendMessage(text: string): Promise<unknown>;
  /** Replaces the context of the view; the agent receives it with the user's next message. */
  updateModelContext(text: string): Promise<unknown>;
  download(file: string, mimeType: string, text: string): Promise<unknown>;
}

interface PendingRequest {
  resolve(message: Fields): void;
}

const toTextContent = (text: string) => [{ type: "text", text }];

export function connect(name: string, version: string, handlers: HostEventHandlers): Bridge {
  const pendingRequests = new Map<number, PendingRequest>();
  let lastId = 0;
  let capabilities: Fields = {};
  let context: Fields = {};

  const post = (message: Fields): void => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

  function request(method: string, params: Fields, limitMs = REQUEST_TIMEOUT_MS): Promise<unknown> {
    lastId += 1;
    const id = lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        pendingRequests.delete(id);
        reject(new Error("The host did not answer."));
      }, limitMs);
      pendingRequests.set(id, {
        resolve({ result, error }) {
          clearTimeout(timer);
          if (error === undefined) resolve(result);
          else reject(new Error(textOf(fieldsOf(error)["message"]) || "The host refused."));
        },
      });
      post({ id, method, params });
    });
  }

  function mergeContext(more: unknown): void {
    context = { ...context, ...fieldsOf(more) };
    handlers.context(context);
  }

  function resolveRequest(message: Fields): void {
    const { id } = message;
    const pendingRequest = typeof id === "number" ? pendingRequests.get(id) : undefined;
    if (typeof id === "number") pendingRequests.delete(id);
    pendingRequest?.resolve(message);
  }

  function handleMessage(message: Fields): void {
    const { id, method } = message;
    const params = fieldsOf(message["params"]);
    switch (method) {
      case undefined:
        resolveRequest(message);
        break;
      case "ui/notifications/tool-input":
        handlers.input(fieldsOf(params["arguments"]));
        break;
      case "ui/notifications/tool-result":
        handlers.result(params);
        break;
      case "ui/notifications/tool-cancelled":
        handlers.cancelled(textOf(params["reason"]));
        break;
      case "ui/notifications/host-context-changed":
        mergeContext(params);
        break;
      case "ui/resource-teardown":
        handlers.teardown();
        post({ id, result: {} });
        break;
      case "ping":
        post({ id, result: {} });
        break;
      default:
        if (id !== undefined) post({ id, error: { code: -32601, message: "Method not found" } });
    }
  }

  // Added before the first request, because a host may send messages before it answers.
  window.addEventListener("message", ({ source, data }) => {
    const message = fieldsOf(data);
    if (source === window.parent && message["jsonrpc"] === "2.0") handleMessage(message);
  });

  function observeSize(): void {
    let last = 0;
    let isScheduled = false;
    const reportSize = () => {
      isScheduled = false;
      const { width, height } = document.documentElement.getBoundingClientRect();
      if (Math.ceil(height) === last) return;
      last = Math.ceil(height);
      post({ method: "ui/notifications/size-changed", params: { width: Math.ceil(width), height: last } });
    };
    new ResizeObserver(() => {
      if (!isScheduled) setTimeout(reportSize, SIZE_DEBOUNCE_MS);
      isScheduled = true;
    }).observe(document.documentElement);
  }

  async function initialize(): Promise<void> {
    const params = {
      protocolVersion: PROTOCOL,
      appInfo: { name, version },
      appCapabilities: { availableDisplayModes: ["inline"] },
    };
    const { hostCapabilities, hostContext } = fieldsOf(await request("ui/initialize", params, INITIALIZE_TIMEOUT_MS));
    capabilities = fieldsOf(hostCapabilities);
    mergeContext(hostContext);
    post({ method: "ui/notifications/initialized", params: {} });
    observeSize();
  }

  return {
    ready: initialize(),
    can: (what) => capabilities[what] !== undefined,
    callTool: (tool, args) => request("tools/call", { name: tool, arguments: args }, TOOL_TIMEOUT_MS),
    sendMessage: (text) => request("ui/message", { role: "user", content: toTextContent(text) }),
    updateModelContext: (text) => request("ui/update-model-context", { content: toTextContent(text) }),
    download: (file, mimeType, text) =>
      request("ui/download-file", {
        contents: [{ type: "resource", resource: { uri: `file:///${file}`, mimeType, text } }],
      }),
  };
}
