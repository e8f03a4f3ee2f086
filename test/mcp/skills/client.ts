// Connects the SDK's client with its host side of the Skills extension, which verifies each file against its entry.
import { Client } from "@modelcontextprotocol/client";
import { SkillsClient } from "@modelcontextprotocol/client/ext/skills";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { onTestFinished } from "vitest";
import { serveInProcess } from "../../support/in-process.ts";

export const REVISIONS = ["2025-11-25", "2026-07-28"] as const;
export type Revision = (typeof REVISIONS)[number];

export interface SkillsConnection {
  readonly client: Client;
  readonly skills: SkillsClient;
}

export async function connectSkills(
  revision: Revision,
  env: Readonly<Record<string, string>> = {},
): Promise<SkillsConnection> {
  const mode = revision === "2026-07-28" ? { pin: revision } : ("legacy" as const);
  const client = new Client({ name: "skills", version: "1" }, { versionNegotiation: { mode } });
  const { stdin, stdout, close } = serveInProcess(env);
  onTestFinished(async () => {
    await client.close();
    await close();
  });
  // The first parameter is the stream that the client reads.
  await client.connect(new StdioServerTransport(stdout, stdin));
  return { client, skills: new SkillsClient(client) };
}
