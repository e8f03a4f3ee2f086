// Bundles src/cli/cli.ts into dist/: one small entry, lazy parts in chunks of their own, every dependency but the native addon inside.
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { build, type Metafile } from "esbuild";

const OUT = "dist";
const DATA = ["lgd-states.tsv", "lgd-districts.tsv"];

/** Licences of everything bundled: their texts have to travel with the code. */
async function licences({ inputs }: Metafile): Promise<string> {
  const folders = new Set(
    Object.keys(inputs).flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []),
  );
  const texts = [...folders].sort().map(async (folder) => {
    const { name, version, license } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
    const candidates = ["LICENSE", "LICENSE.md", "LICENSE.txt", "license", "LICENCE"];
    const found = candidates.map((file) => readFile(`${folder}/${file}`, "utf8").catch(() => undefined));
    // Some have it in their README alone.
    const readme = await readFile(`${folder}/README.md`, "utf8").catch(() => "");
    const text = [...(await Promise.all(found)), /^## license\s+(.*)/ims.exec(readme)?.[1]].find((content) => content);
    return `${name} ${version} (${license})\n\n${text ?? "No licence file in the package.\n"}`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(80)}\n\n`);
}

await rm(OUT, { recursive: true, force: true });
await mkdir(OUT);
const { metafile } = await build({
  entryPoints: {
    cli: "src/cli/cli.ts",
    "keychain-worker": "src/auth/keychain-worker.ts",
    "keychain-thread": "src/auth/keychain-thread.ts",
  },
  outdir: OUT,
  chunkNames: "[name]-[hash]",
  bundle: true,
  // Native addons come with binaries of their own, chosen at install time; pg-native is not used.
  external: ["@napi-rs/keyring", "@photostructure/sqlite", "pg-native"],
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  minify: true,
  keepNames: true,
  legalComments: "none",
  metafile: true,
  // CommonJS dependencies ask for node's own modules by require.
  banner: {
    js: 'import{createRequire as $createRequire}from"node:module";const require=$createRequire(import.meta.url);',
  },
  logLevel: "warning",
});
await Promise.all(DATA.map((file) => copyFile(`src/emulator/geography/${file}`, `${OUT}/${file}`)));
await writeFile(`${OUT}/licenses.txt`, await licences(metafile));
