// Bundles the program into dist/. The startup code is small, and code that is needed later is in separate files. All dependencies
// except the native addons are bundled. `--check` writes nothing and only compares the sizes with their budgets.
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { build, type Plugin } from "esbuild";
import { tools } from "../tools/index.ts";
import { buildViews, MAX_VIEW_KIB } from "./build-views.ts";
import { createBillOfMaterials, formatLicenses, readBundledPackages } from "./bundled-packages.ts";
import { formatManPage } from "./man-page.ts";

const OUTPUT_FOLDER = "dist";
const RECORD_FOLDER = "src/geography/names/record";
const TABLES = ["districts.tsv", "new-districts.tsv", "states.tsv"];

/** The parts are CommonJS, because its loader is already available when a program starts; dist/package.json declares this. */
const PARTS = {
  cli: { source: "src/cli/cli.ts", maxKiB: 8 },
  main: { source: "src/cli/main.ts", maxKiB: 2_200 },
  // The following parts are loaded on first use: by a dynamic import, or in a separate process or thread.
  undici: { source: "src/api-client/undici.ts", maxKiB: 470 },
  postgres: { source: "src/store/postgres.ts", maxKiB: 95 },
  emulator: { source: "src/emulator/index.ts", maxKiB: 620 },
  demo: { source: "src/demo/demo.ts", maxKiB: 8 },
  syntaxes: { source: "src/cli/syntaxes.ts", maxKiB: 65 },
  teams: { source: "src/teams/program.ts", maxKiB: 2_300 },
  telemetry: { source: "src/telemetry/otel.ts", maxKiB: 680 },
  "keychain-worker": { source: "src/credentials/keychain/worker.ts", maxKiB: 180 },
  "parameter-thread": { source: "src/toolkit/jobs/parameter-thread.ts", maxKiB: 270 },
} as const;

const partByPath = new Map(Object.entries(PARTS).map(([name, { source }]) => [resolve(source), `./${name}.js`]));

/** Keeps a part in a separate file if another part imports it on demand. */
const separateParts: Plugin = {
  name: "parts-apart",
  setup({ onResolve }) {
    onResolve({ filter: /^\..*\.ts$/ }, ({ kind, path, resolveDir }) => {
      const part = kind === "dynamic-import" ? partByPath.get(resolve(resolveDir, path)) : undefined;
      return part === undefined ? undefined : { path: part, external: true };
    });
  },
};

/**
 * Replaces the SDK's module for Node, which creates an Ajv for each server. Loading Ajv takes 10 ms, and only the responses to
 * forms are validated with it. `require` makes esbuild load it on first use.
 */
const LAZY_VALIDATOR = `
import process from "node:process";
export { process };
export class DefaultJsonSchemaValidator {
  getValidator(schema) {
    const { AjvJsonSchemaValidator } = require("@modelcontextprotocol/server/validators/ajv");
    this.validator ??= new AjvJsonSchemaValidator();
    return this.validator.getValidator(schema);
  }
}`;

const lazyValidator: Plugin = {
  name: "lazy-validator",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^@modelcontextprotocol\/server\/_shims$/ }, ({ path }) => ({ path, namespace: "lazy" }));
    onLoad({ filter: /./, namespace: "lazy" }, () => ({ contents: LAZY_VALIDATOR, resolveDir: "." }));
  },
};

/** The index of undici also loads fetch, WebSocket, caches and mocks: 42 ms of CPU before the first call, instead of 17. */
const UNDICI = `
import Dispatcher from "undici/lib/dispatcher/dispatcher.js";
import connect from "undici/lib/api/api-connect.js";
// As in the index; the connection to a proxy uses it.
Dispatcher.prototype.connect = connect;
export { default as Agent } from "undici/lib/dispatcher/agent.js";
export { default as buildConnector } from "undici/lib/core/connect.js";
export { default as Pool } from "undici/lib/dispatcher/pool.js";
export { default as ProxyAgent } from "undici/lib/dispatcher/proxy-agent.js";`;

const onlyDispatchers: Plugin = {
  name: "only-dispatchers",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^undici$/ }, ({ path }) => ({ path, namespace: "undici" }));
    onLoad({ filter: /./, namespace: "undici" }, () => ({ contents: UNDICI, resolveDir: "." }));
  },
};

/** A text, because JSON.parse is faster than compiling an object literal of this size. */
const listedSchemas = JSON.stringify(Object.fromEntries(tools.map(({ name, inputSchema }) => [name, inputSchema()])));

/** Replaces src/toolkit/built-schemas.ts, which has no schemas. */
const inputSchemas: Plugin = {
  name: "input-schemas",
  setup({ onLoad }) {
    const contents = `export const builtSchemas = JSON.parse(${JSON.stringify(listedSchemas)});`;
    onLoad({ filter: /\/toolkit\/built-schemas\.ts$/ }, () => ({ contents }));
  },
};

/** Escapes the characters that esbuild leaves in regular expressions: a single one would double the memory for the text of a part. */
const toAscii = (program: string): string =>
  program.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

async function bundlePart(source: string) {
  const { outputFiles, metafile } = await build({
    entryPoints: [source],
    write: false,
    bundle: true,
    plugins: [separateParts, lazyValidator, onlyDispatchers, inputSchemas],
    // Native addons have their own binaries, which are chosen at installation.
    external: ["@napi-rs/keyring", "@photostructure/sqlite"],
    // Its CommonJS form loads its files with a function that esbuild does not see.
    alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
    format: "cjs",
    platform: "node",
    target: "node20",
    supported: { "dynamic-import": false },
    // Names and lines are kept, so that a stack trace points to a line below the name of its source file. Source maps would be
    // larger, and are read only with a flag of Node.
    minifySyntax: true,
    legalComments: "none",
    metafile: true,
    define: { "import.meta.url": "$url", "import.meta.resolve": "String" },
    banner: { js: 'const $url=require("node:url").pathToFileURL(__filename).href;' },
    logLevel: "warning",
  });
  const contents = toAscii(outputFiles[0]?.text ?? "");
  return { contents, inputs: Object.keys(metafile.inputs) };
}

const bundles = await Promise.all(
  Object.entries(PARTS).map(async ([name, { source, maxKiB }]) => ({ name, maxKiB, ...(await bundlePart(source)) })),
);

const tooLarge = bundles.filter(({ contents, maxKiB }) => contents.length > maxKiB * 1024);
for (const { name, contents, maxKiB } of tooLarge)
  process.stderr.write(`dist/${name}.js is ${Math.ceil(contents.length / 1024)} KiB; its budget is ${maxKiB} KiB.\n`);
const views = await buildViews();
const largeViews = views.filter(({ gzipBytes }) => gzipBytes > MAX_VIEW_KIB * 1024);
for (const { name, gzipBytes } of largeViews)
  process.stderr.write(
    `dist/apps/${name}.html is ${Math.ceil(gzipBytes / 1024)} KiB in gzip; its budget is ${MAX_VIEW_KIB}.\n`,
  );
process.exitCode = tooLarge.length + largeViews.length === 0 ? 0 : 1;

if (!process.argv.includes("--check")) {
  await rm(OUTPUT_FOLDER, { recursive: true, force: true });
  await mkdir(OUTPUT_FOLDER);
  for (const { name, contents } of bundles)
    await writeFile(`${OUTPUT_FOLDER}/${name}.js`, contents, { mode: name === "cli" ? 0o755 : 0o644 });
  await mkdir(`${OUTPUT_FOLDER}/apps`);
  for (const { name, html } of views) await writeFile(`${OUTPUT_FOLDER}/apps/${name}.html`, html);
  for (const table of TABLES) await copyFile(`${RECORD_FOLDER}/${table}`, `${OUTPUT_FOLDER}/${table}`);
  await writeFile(`${OUTPUT_FOLDER}/package.json`, `${JSON.stringify({ type: "commonjs" })}\n`);
  const sources = await readFile(`${RECORD_FOLDER}/sources.tsv`, "utf8");
  const packages = await readBundledPackages([...bundles, ...views].flatMap(({ inputs }) => inputs));
  await writeFile(`${OUTPUT_FOLDER}/licenses.txt`, formatLicenses(packages, sources));
  const product = JSON.parse(await readFile("package.json", "utf8"));
  await writeFile(`${OUTPUT_FOLDER}/mic-mcp.1`, formatManPage(product));
  await writeFile(`${OUTPUT_FOLDER}/sbom.cdx.json`, createBillOfMaterials(product, packages));
}
