// A set of skills: turns files into the entries and resources that clients see. The SDK makes and checks the entries; it is
// loaded at the first request for them.
import type { ProtocolEra } from "@modelcontextprotocol/server";
import type { Skill } from "@modelcontextprotocol/server/ext/skills";
import * as z from "zod/v4";
import { memoizeUntilFailure } from "../../core/async.ts";

export const MARKDOWN = "text/markdown";
const SCHEME = "skill://";
const HOUR_MS = 3_600_000;

/** How long a client may keep a skill: it changes with the program alone. */
export const skillCacheHints = (protocolEra: ProtocolEra) =>
  protocolEra === "modern" ? { ttlMs: HOUR_MS, cacheScope: "public" as const } : {};

/** By path: `name/SKILL.md`, and what else is in the skill's folder. */
export type SkillFiles = Readonly<Record<string, string>>;

/** One skill as a resource. */
export interface SkillResource {
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: typeof MARKDOWN;
}

export interface Skills {
  /** In the order of their names. */
  entries(): Promise<readonly Skill[]>;
  resources(): Promise<readonly SkillResource[]>;
  /** The file of this URI; undefined when there is none. */
  read(uri: string): Promise<string | undefined>;
  /** What the skill of this name tells an agent to do: its text without the frontmatter. Undefined where it is not offered. */
  instructions(name: string): Promise<string | undefined>;
}

const Metadata = z.object({ metadata: z.object({ tools: z.string() }) });

/** The tools that a skill has the agent call, as its frontmatter names them. */
export const toolsOf = ({ frontmatter }: Skill): readonly string[] =>
  Metadata.safeParse(frontmatter).data?.metadata.tools.split(" ") ?? [];

interface LoadedSkills {
  readonly entries: readonly Skill[];
  readonly texts: ReadonlyMap<string, string>;
}

async function loadSkills(files: SkillFiles, isOffered: (tool: string) => boolean): Promise<LoadedSkills> {
  const { SkillCatalog, memorySkillFiles } = await import("@modelcontextprotocol/server/ext/skills");
  const { entries } = await SkillCatalog.load(memorySkillFiles({ ...files }), { strict: true });
  const offered = entries.filter((skill) => toolsOf(skill).every(isOffered));
  const texts = offered
    .flatMap(({ resources }) => (resources === "dynamic" ? [] : resources))
    .map(({ uri }) => [uri, files[decodeURI(uri.slice(SCHEME.length))] ?? ""] as const);
  return { entries: offered, texts: new Map(texts) };
}

const titleOf = (text: string): string | undefined => /^# (.+)$/m.exec(text)?.[1];

/** A skill is offered where all its tools are. */
export function createSkills(files: () => Promise<SkillFiles>, isOffered: (tool: string) => boolean): Skills {
  const loaded = memoizeUntilFailure(async () => await loadSkills(await files(), isOffered));

  return {
    entries: async () => (await loaded.get()).entries,
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
    read: async (uri) => (await loaded.get()).texts.get(uri),
    async instructions(name) {
      const text = (await loaded.get()).texts.get(`${SCHEME}${name}/SKILL.md`);
      return text?.replace(/^---\n.*?\n---\s+/s, "").trimEnd();
    },
  };
}
