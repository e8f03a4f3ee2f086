// The Skills extension's own methods (SEP-2640): skills/list and skills/get. The SDK serves them on its high-level server
// only; ours has its own resources/read, which reads skill:// resources.
import { type ProtocolEra, ProtocolError, ProtocolErrorCode, type Server } from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { type Skills, skillCache } from "./skills.ts";

const wrong = (message: string): ProtocolError => new ProtocolError(ProtocolErrorCode.InvalidParams, message);

export function serveSkills(server: Server, skills: Skills, protocolEra: ProtocolEra): void {
  const Listing = z.object({ cursor: z.string().optional() });
  server.setRequestHandler("skills/list", { params: Listing }, async ({ cursor }) => {
    if (cursor !== undefined) throw wrong("Invalid cursor: all skills are on one page.");
    return { skills: [...(await skills.entries())], ...skillCache(protocolEra) };
  });
  const Getting = z.object({ uri: z.string() });
  server.setRequestHandler("skills/get", { params: Getting }, async ({ uri }) => {
    const entries = await skills.entries();
    const skill = entries.find((entry) => entry.uri === uri);
    if (!skill)
      throw wrong(`No skill is served at this URI; the skills are: ${entries.map((entry) => entry.uri).join(", ")}.`);
    return { skill, ...skillCache(protocolEra) };
  });
}
