// A view as a page by itself: its data inside, nothing to load, for its owner's eyes.
import { spawn } from "node:child_process";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** JSON that ends no script, whatever its texts are. */
const inside = (data: unknown): string => JSON.stringify(data).replaceAll("<", "\\u003c");

/** apps/view.tsx looks for it. */
export const withData = (html: string, data: unknown): string =>
  html.replace(
    '<main id="app">',
    () => `<script type="application/json" id="data">${inside(data)}</script><main id="app">`,
  );

/** Its path. */
export async function writePage(name: string, html: string): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), "mic-mcp-")), `${name}.html`);
  await writeFile(path, html, { mode: 0o600, flag: "wx" });
  return path;
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Whether the platform took it. */
export function openPage(path: string): Promise<boolean> {
  const [command, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  return new Promise((resolve) => {
    const child = spawn(command, [...args, path], { stdio: "ignore", detached: true });
    child.once("error", () => resolve(false));
    child.once("spawn", () => {
      child.unref();
      resolve(true);
    });
  });
}
