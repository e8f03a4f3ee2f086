// A local npm registry that has only the release's package, so that `npx` installs and starts what a release would publish. It has no
// native addons.
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { onTestFinished } from "vitest";

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
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the registry listens on no TCP port");
  await writeFile(
    join(home, ".npmrc"),
    `registry=http://127.0.0.1:${address.port}/\nupdate-notifier=false\nfetch-retries=0\nignore-scripts=true\n`,
  );
}
