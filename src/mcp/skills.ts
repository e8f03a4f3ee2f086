// Serves skills: as resources, as the texts of prompts, and with the methods of the Skills extension (SEP-2640), which the SDK serves only
// on its high-level server. The SDK creates and checks the entries; its module for that is loaded at the first request for them.
import type { ProtocolEra, Server } from "@modelcontextprotocol/server";
import type { Skill } from "@modelcontextprotocol/server/ext/skills";
import * as z from "zod/v4";
import { memoizeUntilFailure } from "../core/async.ts";
import { invalidParams } from "./invalid-params.ts";

export const MARKDOWN = "text/markdown";
const SCHEME = "skill://";
const HOUR_MS = 3_600_000;

/** How long a client may cache a skill: 1 hour, because skills change only with the program. */
export const skillCacheHints = (protocolEra: ProtocolEra) =>
  protocolEra === "modern" ? { ttlMs: HOUR_MS, cacheScope: "public" as const } : {};

/** The text of each file, by path: `name/SKILL.md`, and the other files in the skill's folder. */
export type SkillFiles = Readonly<Record<string, string>>;

export type Skills = ReturnType<typeof createSkills>;

const Metadata = z.object({ metadata: z.object({ tools: z.string() }) });

export const toolsOf = ({ frontmatter }: Skill): readonly string[] =>
  Metadata.safeParse(frontmatter).data?.metadata.tools.split(" ") ?? [];

async function loadSkills(files: SkillFiles, isOffered: (tool: string) => boolean) {
  const { SkillCatalog, memorySkillFiles } = await import("@modelcontextprotocol/server/ext/skills");
  const { entries } = await SkillCatalog.load(memorySkillFiles({ ...files }), { strict: true });
  const offered = entries.filter((skill) => toolsOf(skill).every(isOffered));
  const texts = offered
    .flatMap(({ resources }) => (resources === "dynamic" ? [] : resources))
    .map(({ uri }) => [uri, files[decodeURI(uri.slice(SCHEME.length))] ?? ""] as const);
  return { entries: offered, texts: new Map(texts) };
}

const titleOf = (text: string): string | undefined => /^# (.+)$/m.exec(text)?.[1];

/** Creates the set of skills. A skill is offered only if all its tools are offered. */
export function createSkills(files: () => Promise<SkillFiles>, isOffered: (tool: string) => boolean) {
  const loaded = memoizeUntilFailure(async () => await loadSkills(await files(), isOffered));

  return {
    entries: async (): Promise<readonly Skill[]> => (await loaded.get()).entries,
    async resources() {
      const { entries, texts } = await loaded.get();
      return entries.map(({ uri, frontmatter: { name, description } }) => ({
        uri,
        name,
        title: titleOf(texts.get(uri) ?? "") ?? name,
        description,
        mimeType: MARKDOWN,
      }));
    },
    /** Returns the text of the file with this URI; undefined if there is none. */
    read: async (uri: string): Promise<string | undefined> => (await loaded.get()).texts.get(uri),
    /** Returns the text of the skill with this name, without the frontmatter; undefined if the skill is not offered. */
    async instructions(name: string): Promise<string | undefined> {
      const text = (await loaded.get()).texts.get(`${SCHEME}${name}/SKILL.md`);
      return text?.replace(/^---\n.*?\n---\s+/s, "").trimEnd();
    },
  };
}

const ListParams = z.object({ cursor: z.string().optional() });
const GetParams = z.object({ uri: z.string() });

export function serveSkills(server: Server, skills: Skills, protocolEra: ProtocolEra): void {
  server.setRequestHandler("skills/list", { params: ListParams }, async ({ cursor }) => {
    if (cursor !== undefined) throw invalidParams("Invalid cursor: all skills are on one page.");
    return { skills: [...(await skills.entries())], ...skillCacheHints(protocolEra) };
  });
  server.setRequestHandler("skills/get", { params: GetParams }, async ({ uri }) => {
    const entries = await skills.entries();
    const skill = entries.find((entry) => entry.uri === uri);
    if (!skill)
      throw invalidParams(
        `No skill is served at this URI; the skills are: ${entries.map((entry) => entry.uri).join(", ")}.`,
      );
    return { skill, ...skillCacheHints(protocolEra) };
  });
}
