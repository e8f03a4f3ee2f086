// The demo's agent: a real MCP client (the v1 SDK package) that starts the real server and calls its tools over stdio.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import * as z from "zod/v4";
import { agentCalls } from "./story.ts";

const Result = z.looseObject({
  isError: z.boolean().optional(),
  structuredContent: z.unknown().optional(),
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
});

export interface Told {
  readonly failed: boolean;
  readonly text: string;
  readonly structured: unknown;
}

export interface Agent {
  /** Calls a tool; `onProgress` hears the server's progress messages. */
  call(tool: string, args: Record<string, unknown>, onProgress?: (message: string) => void): Promise<Told>;
  /** Calls a tool that must succeed and reads its structuredContent. */
  ask<S extends z.ZodType>(
    schema: S,
    tool: string,
    args: Record<string, unknown>,
    onProgress?: (message: string) => void,
  ): Promise<z.output<S>>;
  countTools(): Promise<number>;
  /** Its server dies at once, as by kill -9. */
  kill(): void;
  close(): Promise<void>;
}

const CALL_TIMEOUT_MS = 60_000;

/** Starts `command` as an MCP server and connects to it. */
export async function startAgent(command: readonly string[], env: Record<string, string>): Promise<Agent> {
  const [program = process.execPath, ...args] = command;
  const client = new Client({ name: "mic-mcp-demo", version: "1" });
  const transport = new StdioClientTransport({ command: program, args, env, stderr: "inherit" });
  await client.connect(transport);

  const call: Agent["call"] = async (tool, args, onProgress) => {
    agentCalls(tool, args);
    const options = {
      timeout: CALL_TIMEOUT_MS,
      ...(onProgress && { onprogress: ({ message }: { message?: string | undefined }) => onProgress(message ?? "") }),
    };
    const result = Result.parse(await client.callTool({ name: tool, arguments: args }, undefined, options));
    const text = result.content.map((block) => block.text ?? "").join("\n");
    return { failed: result.isError === true, text, structured: result.structuredContent };
  };
  return {
    call,
    async ask(schema, tool, args, onProgress) {
      const told = await call(tool, args, onProgress);
      if (told.failed) throw new Error(told.text);
      return schema.parse(told.structured);
    },
    countTools: async () => (await client.listTools()).tools.length,
    kill() {
      if (transport.pid !== null) process.kill(transport.pid, "SIGKILL");
    },
    close: () => client.close(),
  };
}
