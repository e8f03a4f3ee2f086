// Tests how skills are served: with the extension's methods in two revisions and as resources, limited by the configuration.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/client";
import { SkillsClient } from "@modelcontextprotocol/client/ext/skills";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { describe, expect, onTestFinished, test } from "vitest";
import { serveInProcess } from "../../support/in-process.ts";

const NAMES = ["answer-geography", "retry-safely", "run-a-job"];
const uriOf = (name: string): string => `skill://${name}/SKILL.md`;
const textOf = (name: string): string => readFileSync(`skills/${name}/SKILL.md`, "utf8");

describe.each(["2025-11-25", "2026-07-28"])("%s", (revision) => {
  const isModern = revision === "2026-07-28";

  /** Connects the SDK's host side of the Skills extension, which verifies each file against its entry. */
  async function connectSkills(env: Readonly<Record<string, string>> = {}) {
    const mode = isModern ? { pin: revision } : ("legacy" as const);
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

  test("every skill is listed, returned and read, and matches its entry and its resource", async () => {
    const { skills, client } = await connectSkills();
    expect(skills.supported).toBe(true);
    const { skills: entries, invalid, ...cache } = await skills.list();
    expect(invalid).toEqual([]);
    expect(entries.map(({ uri }) => uri)).toEqual(NAMES.map(uriOf));
    expect(cache).toEqual(isModern ? { ttlMs: 3_600_000, cacheScope: "public" } : {});
    const { resources } = await client.listResources();
    for (const [index, entry] of entries.entries()) {
      const [name = "", { uri, frontmatter }] = [NAMES[index], entry];
      const [text, mimeType] = [textOf(name), "text/markdown"];
      expect((await skills.get(uri)).skill).toEqual(entry);
      expect(await skills.read(entry)).toMatchObject({ verified: true, mimeType, text });
      expect(frontmatter).toMatchObject({ name, description: expect.stringMatching(/\. Use it /) });
      const title = /^# (.+)$/m.exec(text)?.[1];
      const { description } = frontmatter;
      expect(resources).toContainEqual(expect.objectContaining({ uri, name, description, mimeType, title }));
    }
  });

  test("an unknown skill is refused with an error", async () => {
    const { client, skills } = await connectSkills();
    const skillUris = ["skill://none/SKILL.md", "skill://run-a-job", "skill://run-a-job/../run-a-job/SKILL.md"];
    for (const uri of [...skillUris, "mic://actions", ""])
      await expect(skills.get(uri), uri).rejects.toMatchObject({ code: -32602 });
    for (const uri of skillUris) await expect(client.readResource({ uri }), uri).rejects.toThrow(/Resource not found/);
    await expect(skills.list({ cursor: "next" })).rejects.toMatchObject({ code: -32602 });
  });

  // test/mcp/resources/reading.test.ts tests other configurations.
  test("only the skills whose tools are all offered are listed and can be read", async () => {
    const { client, skills } = await connectSkills({ MIC_TOOLSETS: "jobs" });
    expect((await skills.list()).skills.map(({ uri }) => uri)).toEqual(["retry-safely", "run-a-job"].map(uriOf));
    const hidden = client.readResource({ uri: uriOf("answer-geography") });
    await expect(hidden).rejects.toThrow(/Resource not found/);
  });
});
