// Starts Chromium with two origins on this machine: the host's page, and the sandbox that contains a view.
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { build } from "esbuild";
import { chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { openForFile } from "../support/for-file.ts";
import { listeningUrl } from "../support/free-port.ts";

const PROGRAMS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
/** Path of Chromium; undefined if there is none, and then the tests that need it are skipped with that reason. */
export const CHROMIUM = [process.env["MIC_TEST_CHROMIUM"] ?? "", ...PROGRAMS.map((name) => `/usr/bin/${name}`)].find(
  (path) => existsSync(path),
);

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

export type Pages = Awaited<ReturnType<typeof openPages>>;

async function serve(html: string, headers: Readonly<Record<string, string>> = {}) {
  const server = createServer((request, response) => {
    response.writeHead(request.url === "/" ? 200 : 404, { "content-type": "text/html; charset=utf-8", ...headers });
    response.end(request.url === "/" ? html : "");
  });
  return { url: `${await listeningUrl(server)}/`, close: () => server.close() };
}

/** One process for all frames of a page, because starting a process takes long. Their origins still differ. */
const ONE_PROCESS = [
  "--renderer-process-limit=1",
  "--disable-site-isolation-trials",
  "--disable-features=IsolateSandboxedIframes,IsolateOrigins,site-per-process",
];

export async function openPages() {
  const options = { bundle: true, write: false, format: "iife", platform: "browser", logLevel: "warning" } as const;
  const { outputFiles } = await build({ entryPoints: ["test/apps/page/host.ts"], ...options });
  const script = (outputFiles[0]?.text ?? "").replaceAll("</script", "<\\/script");
  const host = await serve(
    `<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>host</title><body style="margin:0"><script>${script}</script></body></html>`,
  );
  const sandbox = await serve(SANDBOX, { "content-security-policy": CSP });
  const browser = await chromium.launch({
    executablePath: CHROMIUM ?? "chromium",
    args: ["--no-sandbox", "--disable-gpu", ...ONE_PROCESS],
  });
  const released: Page[] = [];
  return {
    browser,
    sandboxUrl: sandbox.url,
    async open() {
      const page = released.pop() ?? (await browser.newPage());
      if (page.url() !== host.url) await page.goto(host.url);
      return page;
    },
    async release(page: Page) {
      page.removeAllListeners("console");
      page.removeAllListeners("pageerror");
      await page.emulateMedia({ reducedMotion: null, forcedColors: null });
      await page.goto(host.url);
      released.push(page);
    },
    async close() {
      await browser.close();
      host.close();
      sandbox.close();
    },
  };
}

export function pagesForFile(): () => Pages {
  const opened = openForFile(
    async () => (CHROMIUM === undefined ? undefined : await openPages()),
    (pages) => pages?.close(),
  );
  return () => opened() ?? expect.fail("there is no Chromium here");
}
