// The emulated service in a process of its own, as `mic-mcp emulator` starts it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import * as z from "zod/v4";

const Facts = z.object({
  baseUrl: z.string(),
  clientId: z.string(),
  clientSecret: z.string(),
  workspaceId: z.string(),
  fileIds: z.array(z.string()),
});

export async function startService(command: readonly string[]) {
  const [program = process.execPath, ...args] = command;
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [line]: unknown[] = await once(createInterface(child.stdout), "line");
  const facts = Facts.parse(JSON.parse(String(line)));
  return {
    facts,
    async close(): Promise<void> {
      child.kill();
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}
