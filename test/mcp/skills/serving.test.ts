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

/** The SDK's host side of the Skills extension verifies each file against its entry. */
const REVISIONS = ["2025-11-25", "2026-07-28"] as const;
type Revision = (typeof REVISIONS)[number];

async function connectSkills(revision: Revision, env: Readonly<Record<string, string>> = {}) {
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

describe.each(REVISIONS)("%s", (revision) => {
  test("every skill is listed, returned and read, and matches its entry", async () => {
    const { skills, client } = await connectSkills(revision);
    expect(skills.supported).toBe(true);
    const { skills: entries, invalid, nextCursor, ...cache } = await skills.list();
    expect(invalid).toEqual([]);
    expect(nextCursor).toBeUndefined();
    expect(entries.map(({ uri }) => uri)).toEqual(NAMES.map(uriOf));
    const expected = revision === "2026-07-28" ? { ttlMs: 3_600_000, cacheScope: "public" } : {};
    expect(cache).toEqual(expected);
    const { resources } = await client.listResources();
    for (const [index, entry] of entries.entries()) {
      const name = NAMES[index] ?? "";
      expect((await skills.get(entry.uri)).skill).toEqual(entry);
      const file = await skills.read(entry);
      expect(file).toMatchObject({ verified: true, mimeType: "text/markdown", text: textOf(name) });
      const { frontmatter } = entry;
      expect(frontmatter).toMatchObject({ name, description: expect.stringMatching(/\. Use it /) });
      expect(resources).toContainEqual(
        expect.objectContaining({
          uri: entry.uri,
          name,
          description: frontmatter.description,
          mimeType: "text/markdown",
          title: /^# (.+)$/m.exec(textOf(name))?.[1],
        }),
      );
    }
  });

  test("an unknown skill is refused with an error", async () => {
    const { client, skills } = await connectSkills(revision);
    for (const uri of [
      "skill://none/SKILL.md",
      "skill://run-a-job",
      "skill://run-a-job/../run-a-job/SKILL.md",
      "mic://actions",
      "",
    ]) {
      await expect(skills.get(uri), uri).rejects.toMatchObject({ code: -32602 });
      if (uri.startsWith("skill:"))
        await expect(client.readResource({ uri }), uri).rejects.toThrow(/Resource not found/);
    }
    await expect(skills.list({ cursor: "next" })).rejects.toMatchObject({ code: -32602 });
  });

  test.each([
    ["MIC_TOOLSETS", "geography", ["answer-geography"]],
    ["MIC_TOOLSETS", "jobs", ["retry-safely", "run-a-job"]],
    ["MIC_READ_ONLY", "1", ["answer-geography"]],
  ])("%s=%s leaves the skills whose tools are all offered", async (variable, value, names) => {
    const { client, skills } = await connectSkills(revision, { [variable]: value });
    expect((await skills.list()).skills.map(({ uri }) => uri)).toEqual(names.map(uriOf));
    const { resources } = await client.listResources();
    const listed = resources.map(({ uri }) => uri).filter((uri) => uri.startsWith("skill:"));
    expect(listed).toEqual(names.map(uriOf));
    for (const hidden of NAMES.filter((name) => !names.includes(name)))
      await expect(client.readResource({ uri: uriOf(hidden) })).rejects.toThrow(/Resource not found/);
  });
});
