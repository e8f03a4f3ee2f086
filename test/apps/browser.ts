// Starts Chromium with two origins on this machine: the host's page, and the sandbox that contains a view.
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll } from "vitest";

const CHROMIUM_PATHS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/** Path of Chromium; undefined if there is none, and then the tests that need it are skipped with that reason. */
export const CHROMIUM = [process.env["MIC_TEST_CHROMIUM"] ?? "", ...CHROMIUM_PATHS].find((path) => existsSync(path));

/** The default policy of a host (SEP-1865), which allows no network. */
const CSP =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'none'; base-uri 'none'";

/** Forwards messages between host and view, as the sandboxes of web hosts do. */
const SANDBOX = `<!doctype html><link rel="icon" href="data:,"><style>html,body,iframe{margin:0;border:0;width:100%;height:100%;display:block}</style><script>
let inner;
addEventListener("message", ({ source, data }) => {
  if (inner && source === inner.contentWindow) return parent.postMessage(data, "*");
  if (source !== parent) return;
  if (data.method !== "ui/notifications/sandbox-resource-ready") return inner?.contentWindow.postMessage(data, "*");
  inner = document.createElement("iframe");
  inner.sandbox = "allow-scripts";
  inner.srcdoc = data.params.html;
  document.body.append(inner);
});
</script>`;

export interface Pages {
  readonly browser: Browser;
  readonly hostUrl: string;
  readonly sandboxUrl: string;
  /** Paths that were requested from these two origins, except the two pages. */
  readonly unexpectedRequests: readonly string[];
  close(): Promise<void>;
}

async function serve(html: string, headers: Readonly<Record<string, string>>, unexpectedRequests: string[]) {
  const server = createServer((request, response) => {
    if (request.url !== "/") unexpectedRequests.push(request.url ?? "");
    response.writeHead(request.url === "/" ? 200 : 404, { "content-type": "text/html; charset=utf-8", ...headers });
    response.end(request.url === "/" ? html : "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address: AddressInfo | string | null = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the page is served nowhere");
  return { url: `http://127.0.0.1:${address.port}/`, close: () => server.close() };
}

export async function openPages(): Promise<Pages> {
  if (CHROMIUM === undefined) throw new Error("there is no Chromium here");
  const { outputFiles } = await build({
    entryPoints: ["test/apps/page/host.ts"],
    bundle: true,
    write: false,
    format: "iife",
    platform: "browser",
    logLevel: "warning",
  });
  const script = (outputFiles[0]?.text ?? "").replaceAll("</script", "<\\/script");
  const unexpectedRequests: string[] = [];
  const host = await serve(
    `<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>host</title><body style="margin:0"><script>${script}</script></body></html>`,
    {},
    unexpectedRequests,
  );
  const sandbox = await serve(SANDBOX, { "content-security-policy": CSP }, unexpectedRequests);
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
  return {
    browser,
    hostUrl: host.url,
    sandboxUrl: sandbox.url,
    unexpectedRequests,
    async close() {
      await browser.close();
      host.close();
      sandbox.close();
    },
  };
}

/** The browser pages for all tests of a file. */
export function pagesForFile(): () => Pages {
  let pages: Pages | undefined;
  beforeAll(async () => {
    if (CHROMIUM !== undefined) pages = await openPages();
  });
  afterAll(() => pages?.close());
  return () => {
    if (pages === undefined) throw new Error("the browser is there only while tests run");
    return pages;
  };
}
