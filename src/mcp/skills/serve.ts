// The Skills extension's own methods (SEP-2640): skills/list and skills/get. The SDK's serving of them takes its high-level
// server; this one has its own resources/read, where skill:// resources are read.
import { ProtocolError, ProtocolErrorCode, type Server } from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import type { Era } from "../resources/resources.ts";
import type { Skills } from "./skills.ts";

/** What a server says of itself that serves skills. */

const HOUR_MS = 3_600_000;
/** They change with the program alone. */
export const skillCache = (era: Era) => (era === "modern" ? { ttlMs: HOUR_MS, cacheScope: "public" as const } : {});

const wrong = (message: string): ProtocolError => new ProtocolError(ProtocolErrorCode.InvalidParams, message);

export function serveSkills(server: Server, skills: Skills, era: Era): void {
  const Listing = z.object({ cursor: z.string().optional() });
  server.setRequestHandler("skills/list", { params: Listing }, async ({ cursor }) => {
    if (cursor !== undefined) throw wrong("Invalid cursor: all skills are on one page.");
    return { skills: [...(await skills.entries())], ...skillCache(era) };
  });
  const Getting = z.object({ uri: z.string() });
  server.setRequestHandler("skills/get", { params: Getting }, async ({ uri }) => {
    const entries = await skills.entries();
    const skill = entries.find((entry) => entry.uri === uri);
    if (!skill)
      throw wrong(`No skill is served at this URI; the skills are: ${entries.map((entry) => entry.uri).join(", ")}.`);
    return { skill, ...skillCache(era) };
  });
}
