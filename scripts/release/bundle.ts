// Packs the MCP bundle: one file that a desktop host installs.
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { run, writeJson } from "./files.ts";

/** Arguments of npm that run Anthropic's bundler. It is not a dependency, because only a release needs it. */
export const MCPB = ["exec", "--yes", "--package=@anthropic-ai/mcpb@2.1.2", "--", "mcpb"] as const;

/** Validates the manifest by the bundler's own rules and packs the bundle. Returns the bundle's path. */
export async function packBundle(release: string, unpacked: string, icon: string): Promise<string> {
  const bundle = join(release, "mic-mcp.mcpb");
  const manifest = join(unpacked, "manifest.json");
  await writeJson(manifest, { ...JSON.parse(await readFile(manifest, "utf8")), icon: "icon.png" });
  await cp(icon, join(unpacked, "icon.png"));
  await run("npm", [...MCPB, "validate", manifest]);
  await run("npm", [...MCPB, "pack", unpacked, bundle]);
  return bundle;
}
