// Creates one folder, release/, with everything that is published of a version: `npm run release`. Nothing is uploaded.
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { packBundle } from "./bundle.ts";
import { writeContainer } from "./container.ts";
import { listFiles, sha256, writeJson, writeText } from "./files.ts";
import { formatLinksPage } from "./links.ts";
import { packNpm } from "./npm-package.ts";
import { createServerJson } from "./registry.ts";

const [RELEASE = "release"] = process.argv.slice(2);
const ICON = join("docs", "pictures", "icon.png");

/** Returns one line for each file of the release, in the format of `sha256sum -c`. */
async function formatChecksums(): Promise<string> {
  const lines = (await listFiles(RELEASE)).map(async (path) => `${await sha256(join(RELEASE, path))}  ${path}`);
  return `${(await Promise.all(lines)).join("\n")}\n`;
}

await rm(RELEASE, { recursive: true, force: true });
const unpacked = join(RELEASE, ".package");
const tarball = await packNpm(RELEASE, unpacked);
await writeContainer(RELEASE, unpacked);
const bundle = await packBundle(RELEASE, unpacked, ICON);
await writeJson(join(RELEASE, "server.json"), await createServerJson(bundle));
await writeText(join(RELEASE, "links.md"), formatLinksPage());
for (const documentFile of ["licenses.txt", "sbom.cdx.json"])
  await cp(join(unpacked, "dist", documentFile), join(RELEASE, documentFile));
await rm(unpacked, { recursive: true });
await writeText(join(RELEASE, "SHA256SUMS"), await formatChecksums());
const files = await listFiles(RELEASE);
process.stdout.write(
  `${RELEASE}: ${tarball.slice(RELEASE.length + 1)} and what is made of it, ${files.length} files.\n`,
);
