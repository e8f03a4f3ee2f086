// Serves the methods of the Skills extension (SEP-2640): skills/list and skills/get. The SDK serves them only on its high-level server.
// This server is a low-level one; its own resources/read serves the skill:// resources.
import { type ProtocolEra, ProtocolError, ProtocolErrorCode, type Server } from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { type Skills, skillCacheHints } from "./skills.ts";

const ListParams = z.object({ cursor: z.string().optional() });
const GetParams = z.object({ uri: z.string() });

const invalidParams = (message: string): ProtocolError => new ProtocolError(ProtocolErrorCode.InvalidParams, message);

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
