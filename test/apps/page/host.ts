// The page of a host that renders views: the official bridge and a frame. The test answers the view's requests.
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

interface HostSettings {
  readonly capabilities: object;
  readonly context: Record<string, unknown>;
  readonly html: string;
  readonly sandboxUrl: string;
}

declare global {
  interface Window {
    answer(kind: string, params: unknown): Promise<never>;
    draw(settings: HostSettings): Promise<void>;
    bridge: Pick<
      AppBridge,
      "sendToolInput" | "sendToolResult" | "sendToolCancelled" | "teardownResource" | "setHostContext"
    >;
  }
}

window.draw = async ({ capabilities, context, html, sandboxUrl }) => {
  const bridge = new AppBridge(null, { name: "test-host", version: "1" }, capabilities, { hostContext: context });
  bridge.oncalltool = (params) => window.answer("call", params);
  bridge.onmessage = (params) => window.answer("message", params);
  bridge.onupdatemodelcontext = (params) => window.answer("context", params);
  bridge.ondownloadfile = (params) => window.answer("download", params);
  window.bridge = bridge;
  const frame = document.createElement("iframe");
  frame.style.cssText = "width:100%;border:0;display:block;height:200px";
  bridge.addEventListener("sizechange", ({ height }) => {
    frame.style.height = `${height ?? 200}px`;
    void window.answer("size", height);
  });
  const loaded = new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
  frame.src = sandboxUrl;
  document.body.append(frame);
  await loaded;
  const target = frame.contentWindow;
  if (!target) throw new Error("the frame has no window");
  const initialized = new Promise<void>((resolve) => bridge.addEventListener("initialized", () => resolve()));
  await bridge.connect(new PostMessageTransport(target, target));
  await bridge.sendSandboxResourceReady({ html });
  await initialized;
};
