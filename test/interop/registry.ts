// A local npm registry that has only the release's package, so that `npx` installs and starts what a release would publish. It has no
// native addons.
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { serveForTest } from "../support/http-server.ts";

/** Starts the registry until the running test ends, and configures npm in `home` to use it. `folder`: that of the npm tarball. */
export async function useLocalRegistry(home: string, folder: string): Promise<void> {
  const [file = ""] = await readdir(folder);
  const tarball = await readFile(join(folder, file));
  const { devDependencies: _, ...manifest } = JSON.parse(await readFile("package.json", "utf8"));
  const { name, version } = manifest;
  const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
  const server = createServer(({ url, headers }, response) => {
    const dist = { tarball: `http://${headers.host}/${file}`, integrity };
    const document = { name, "dist-tags": { latest: version }, versions: { [version]: { ...manifest, dist } } };
    if (url === `/${file}`) response.end(tarball);
    else if (url === `/${name}`) response.end(JSON.stringify(document));
    else response.writeHead(404).end("{}");
  });
  const url = await serveForTest(server);
  await writeFile(
    join(home, ".npmrc"),
    `registry=${url}/\nupdate-notifier=false\nfetch-retries=0\nignore-scripts=true\n`,
  );
}
