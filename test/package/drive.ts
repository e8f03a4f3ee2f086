// Drives a program of a release through the main job with a client, on a machine with an empty HOME.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { expect } from "vitest";
import { bareEnvironment } from "../support/mcp.ts";

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Connects a client to a program, with the environment of an empty `home` and the command's own variables. */
export async function openClient({ command, args, env, cwd }: Command, home: string) {
  const transport = new StdioClientTransport({
    ...{ command, args: [...args], env: { ...bareEnvironment(home), ...env }, stderr: "pipe" as const },
    cwd,
  });
  let log = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    log += chunk.toString();
  });
  const client = new Client({ name: "command-test", version: "1" });
  await client.connect(transport);
  return { client, log: () => log };
}

/** Runs a job against the emulator inside the server. Throws if it does not succeed. */
export async function driveJob(command: Command, home: string): Promise<void> {
  const { client } = await openClient(command, home);
  try {
    const fileId = /devfile_[0-9a-f]{32}/.exec(client.getInstructions() ?? "")?.[0];
    const call = async (name: string, toolArguments: Record<string, unknown>) => {
      const result = await client.callTool({ name, arguments: toolArguments });
      expect(result.isError, JSON.stringify(result.content)).not.toBe(true);
      return Object(result.structuredContent);
    };
    const { data: recipes } = await call("list_recipes", {});
    const recipe = recipes.find(({ name }: { name: string }) => name.startsWith("Normalize"));
    const finished = await call("run_job", {
      recipeVersionId: recipe.versionId,
      inputs: [{ port: "divisions", referenceId: fileId }],
      parameterValues: { level: "DISTRICT", vintage: "2026-09-30" },
    });
    expect(finished).toMatchObject({ data: { state: "SUCCEEDED" } });
  } finally {
    await client.close();
  }
}
