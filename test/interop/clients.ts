// The real clients that call tools without a model or a login: how each one is configured for a server and uses it.
import { createInterface } from "node:readline";
import * as z from "zod/v4";
import { codexServer, write } from "./hosts.ts";
import { type ClientName, missingReason, packages, programOf } from "./packages.ts";
import { launch, NO_NETWORK, runUnproxied } from "./run.ts";

/** How a client reaches the server. Each request over HTTP needs the bearer `token`. */
export type Target =
  | { readonly kind: "stdio"; readonly command: string; readonly args: readonly string[] }
  | { readonly kind: "http"; readonly url: string; readonly token: string };

export interface Client {
  readonly name: string;
  /** Why the client cannot run on this machine; undefined if it can. */
  readonly missing: string | undefined;
  readonly firstMethod: "initialize" | "server/discover";
  /** Lists, calls and reads, with `home` as HOME. Rejects if the client reports a failure. */
  use(target: Target, home: string): Promise<void>;
}

const client = (name: ClientName): Pick<Client, "name" | "missing"> => ({
  name: `${name} ${packages[name].version}`,
  missing: missingReason(name),
});

function requireOutput(pattern: RegExp, stdout: string): void {
  if (!pattern.test(stdout)) throw new Error(`the client printed: ${stdout}`);
}

const Answer = z.looseObject({ id: z.int(), result: z.looseObject({}).optional(), error: z.unknown().optional() });
const Started = z.object({ thread: z.object({ id: z.string() }) });
const Status = z.object({
  data: z.tuple([z.object({ name: z.literal("mic"), tools: z.record(z.string(), z.unknown()) })]),
});

const codex: Client = {
  ...client("Codex"),
  firstMethod: "initialize",
  async use(target, home) {
    const { kind: _, token: MIC_HTTP_TOKEN = "", ...how } = { token: undefined, ...target };
    const variable = target.kind === "http" && { bearer_token_env_var: "MIC_HTTP_TOKEN" };
    await write(home, ".codex/config.toml", codexServer({ ...how, ...variable }));
    const app = launch(home, [...programOf("Codex"), "app-server"], { ...NO_NETWORK, MIC_HTTP_TOKEN });
    const exited = new Promise((resolve) => app.once("close", resolve));
    app.stderr.resume();
    const waiting = new Map<number, (answer: z.infer<typeof Answer>) => void>();
    createInterface(app.stdout).on("line", (line) => {
      const { data: answer } = Answer.safeParse(JSON.parse(line));
      if (answer) waiting.get(answer.id)?.(answer);
    });
    let id = 0;
    const send = (message: object) => app.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    async function request(method: string, params: object): Promise<unknown> {
      const response = new Promise<z.infer<typeof Answer>>((resolve) => waiting.set(++id, resolve));
      send({ id, method, params });
      const { result, error } = await response;
      if (!result) throw new Error(`${method}: ${JSON.stringify(error)}`);
      return result;
    }
    try {
      await request("initialize", { clientInfo: { name: "mic-mcp-tests", version: "1.0.0" }, capabilities: null });
      send({ method: "initialized" });
      Status.parse(await request("mcpServerStatus/list", {}));
      const { thread } = Started.parse(await request("thread/start", { cwd: home, ephemeral: true }));
      const of = { threadId: thread.id, server: "mic" };
      await request("mcpServer/tool/call", { ...of, tool: "list_districts", arguments: { state: "KA" } });
      await request("mcpServer/resource/read", { ...of, uri: "mic://geography/states" });
    } finally {
      app.stdin.end();
      await exited;
    }
  },
};

/** The Inspector runs as two clients: with older and with newer protocol revisions. */
const inspector = (revision: "legacy" | "modern"): Client => ({
  ...client("MCP Inspector"),
  name: `${client("MCP Inspector").name} (${revision})`,
  firstMethod: revision === "legacy" ? "initialize" : "server/discover",
  async use(target, home) {
    const server =
      target.kind === "http"
        ? [target.url, "--header", `Authorization: Bearer ${target.token}`]
        : [target.command, ...target.args];
    async function inspect(...what: readonly string[]): Promise<string> {
      const program = [...programOf("MCP Inspector"), "--cli", ...server, "--protocol-era", revision];
      const { code, stdout, stderr } = await runUnproxied(home, ...program, "--format", "json", ...what);
      if (code !== 0) throw new Error(`${what.join(" ")}: ${stderr}${stdout}`);
      // With --strict the Inspector reports schemas that a host could not use on stderr, even if it exits with 0.
      if (what.includes("--strict") && stderr !== "") throw new Error(stderr);
      return stdout;
    }
    await inspect("--method", "tools/list", "--strict");
    await inspect("--method", "tools/call", "--tool-name", "list_districts", "--tool-arg", "state=KA");
    await inspect("--method", "resources/read", "--uri", "mic://geography/states");
    if (revision === "legacy") return;
    // Exits with a non-zero code if a skill does not match its digest.
    requireOutput(/"outcome": ?"verified"/, await inspect("--method", "skills/list", "--verify"));
  },
});

export const clients: readonly Client[] = [codex, inspector("legacy"), inspector("modern")];
