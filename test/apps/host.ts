// A host with one rendered view: it gives access to the view's content and buttons, and records the view's requests.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Frame, Page } from "playwright-core";
import { expect } from "vitest";
import * as z from "zod/v4";
import { APP_HTML, type ViewName, viewUri } from "../../src/toolkit/views.ts";
import type { TestClient } from "../support/mcp.ts";
import { isThorough } from "../support/thorough.ts";
import type { Pages } from "./browser.ts";

type Json = Readonly<Record<string, unknown>>;

export interface HostOptions {
  readonly connection: Pick<TestClient, "callTool" | "readResource">;
  readonly tool: string;
  readonly args: Json;
  readonly capabilities?: Json;
  readonly context?: Json;
  readonly width?: number;
  readonly colorScheme?: "light" | "dark";
  /** Replaces the tool's own result; if it is null, the view gets no result. */
  readonly structuredContent?: Json | null;
  readonly interceptCall?: (call: ToolContext, next: () => Promise<Json>) => Promise<Json>;
  /** Answers messages to the agent; throws if the host refuses. */
  readonly onMessage?: () => Promise<Json>;
}

export interface ToolContext {
  readonly name: string;
  readonly arguments: Json;
}

const Result = z.record(z.string(), z.unknown());
const Call = z.object({ name: z.string(), arguments: Result });
const Content = z.object({ content: z.array(z.object({ text: z.string() })) });
const Download = z.object({
  contents: z.array(z.object({ resource: z.object({ uri: z.string(), text: z.string() }) })),
});

const ALL_CAPABILITIES: Json = { serverTools: {}, updateModelContext: {}, message: {}, downloadFile: {} };

const viewOf = (tool: string): ViewName =>
  z.enum(["job", "divisions", "usage", "actions"]).parse(tool.slice("show_".length));

export class Host {
  readonly page: Page;
  readonly calls: ToolContext[] = [];
  readonly messages: string[] = [];
  /** Model contexts for the agent; each replaces the one before. */
  readonly contexts: string[] = [];
  readonly downloads: { readonly uri: string; readonly text: string }[] = [];
  readonly heights: number[] = [];
  readonly consoleErrors: string[] = [];
  readonly #options: HostOptions;

  constructor(page: Page, options: HostOptions) {
    this.page = page;
    this.#options = options;
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") this.consoleErrors.push(message.text());
    });
    page.on("pageerror", (error) => this.consoleErrors.push(String(error)));
  }

  get frame(): Frame {
    const frame = this.page.frames().find((each) => each.parentFrame()?.parentFrame());
    if (!frame) throw new Error("no view is drawn");
    return frame;
  }

  text(): Promise<string> {
    return this.frame.locator("body").innerText();
  }

  button(name: string) {
    return this.frame.getByRole("button", { name, exact: true });
  }

  async answer(kind: unknown, params: unknown): Promise<Json> {
    switch (kind) {
      case "call": {
        const call = Call.parse(params);
        this.calls.push(call);
        const next = async () =>
          Result.parse(JSON.parse((await this.#options.connection.callTool(call.name, call.arguments)).raw));
        return await (this.#options.interceptCall?.(call, next) ?? next());
      }
      case "message":
        this.messages.push(...Content.parse(params).content.map(({ text }) => text));
        return (await this.#options.onMessage?.()) ?? {};
      case "context":
        this.contexts.push(...Content.parse(params).content.map(({ text }) => text));
        return {};
      case "download":
        this.downloads.push(...Download.parse(params).contents.map(({ resource }) => resource));
        return {};
      default:
        this.heights.push(Number(params));
        return {};
    }
  }
}

const hosts = new WeakMap<Page, Host>();

/** Renders the view of a tool as a host does: with the resource, the arguments and the tool's result. */
export async function drawView(pages: Pages, options: HostOptions): Promise<Host> {
  const { connection, tool, args, capabilities = ALL_CAPABILITIES, context = {}, structuredContent } = options;
  const { width = 760, colorScheme = "light" } = options;
  const page = await pages.open();
  const host = new Host(page, options);
  if (!hosts.has(page))
    await page.exposeFunction("answer", (kind: unknown, params: unknown) => hosts.get(page)?.answer(kind, params));
  hosts.set(page, host);
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ colorScheme });
  const { mimeType, text: html } = await connection.readResource(viewUri(viewOf(tool)));
  expect(mimeType).toBe(APP_HTML);
  const hostContext = { theme: colorScheme, ...context };
  const setting = JSON.stringify({ capabilities, context: hostContext, html, sandboxUrl: pages.sandboxUrl });
  await page.evaluate(`window.draw(${setting.replaceAll("\u2028", "\\u2028")})`);
  await page.evaluate(`window.bridge.sendToolInput({ arguments: ${JSON.stringify(args)} })`);
  if (structuredContent === null) return host;
  const result = structuredContent
    ? JSON.stringify({ content: [], structuredContent })
    : (await connection.callTool(tool, args)).raw;
  await page.evaluate(`window.bridge.sendToolResult(${result})`);
  return host;
}

const AXE = fileURLToPath(import.meta.resolve("axe-core/axe.min.js"));
const Violations = z.array(z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string() })) }));

async function findAxeViolations(host: Host): Promise<readonly string[]> {
  await host.frame.evaluate(await readFile(AXE, "utf8"));
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const found = await host.frame.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(tags)} }).then(({ violations }) => violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => ({ html })) })))`,
  );
  return Violations.parse(found).flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

export const measureOverflow = async (host: Host): Promise<number> =>
  z
    .number()
    .parse(await host.frame.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"));

/**
 * Each theme with the width in px at which axe runs outside the thorough run: colors depend on the theme, the layout on the
 * width.
 */
const THEMES = { light: 320, dark: 1100 };

/** The problems in each theme at each width: violations that axe finds, and overflow. */
export async function findProblems(host: Host): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const [theme, axeWidth] of Object.entries(THEMES)) {
    await host.page.evaluate(`window.bridge.setHostContext({ theme: "${theme}" })`);
    for (const width of [320, 380, 760, 1100]) {
      await host.page.setViewportSize({ width, height: 900 });
      const overflow = await measureOverflow(host);
      const violations = isThorough || width === axeWidth ? await findAxeViolations(host) : [];
      const found = [...violations, ...(overflow === 0 ? [] : [`${overflow} px too wide`])];
      problems.push(...found.map((problem) => `${theme}, ${width} px: ${problem}`));
    }
  }
  return problems;
}
