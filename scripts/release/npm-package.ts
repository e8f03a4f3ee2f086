// Packs the package as npm would publish it. Every other part is created from its files, so that all parts contain the same
// program.
import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/v4";
import { run } from "./files.ts";

const PackResult = z.array(z.object({ filename: z.string() })).length(1);

/** Packs the existing dist/ without a new build, and extracts the tarball to `unpacked`. Returns the tarball's path. */
export async function packNpm(release: string, unpacked: string): Promise<string> {
  const folder = join(release, "npm");
  await mkdir(folder, { recursive: true });
  const output = await run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder]);
  const [packedFile] = PackResult.parse(JSON.parse(output));
  if (packedFile === undefined) throw new Error("npm packed nothing.");
  const tarball = join(folder, packedFile.filename);
  await run("tar", ["-xzf", tarball, "-C", release]);
  await rename(join(release, "package"), unpacked);
  return tarball;
}
