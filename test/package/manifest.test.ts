// Tests manifest.json, which makes the package an MCP bundle: it lists the correct tools and configures the server. `npm run release` validates it by the bundler's schema.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readConfig } from "../../src/core/config.ts";
import { tools } from "../../tools/index.ts";
import { Manifest, resolveServer } from "./bundle-host.ts";

const manifest = Manifest.parse(JSON.parse(readFileSync("manifest.json", "utf8")));
const packageJson = JSON.parse(readFileSync("package.json", "utf8"));

test("the manifest has the package's name, version, license, engine and entry point", () => {
  const { name, version, license, engines, bin } = packageJson;
  const server = { type: "node", entry_point: bin["mic-mcp"] };
  expect(manifest).toMatchObject({
    name,
    version,
    license,
    server,
    compatibility: { runtimes: { node: engines.node } },
  });
});

test("the manifest has the tools of the catalog, in order", () => {
  expect(manifest.tools).toEqual(tools.map(({ name, description }) => ({ name, description })));
});

/** The environment that a host creates from the manifest and a user's answers. */
function environmentFor(answers: Readonly<Record<string, string>>): Record<string, string> {
  const { args, env } = resolveServer(manifest, { folder: "/extensions/mic-mcp", home: "/home/person", answers });
  expect(args).toEqual(["/extensions/mic-mcp/dist/cli.js", "serve"]);
  return env;
}

const service = { base_url: "https://service.example" };

test("the manifest configures everything if the user answers everything", () => {
  const answers = { client_id: "id", client_secret: "a-secret", workspace_id: "micws_1", download_dir: "/data" };
  expect(readConfig(environmentFor({ ...service, ...answers }))).toMatchObject({
    baseUrl: "https://service.example",
    credentials: { clientId: "id", clientSecret: "a-secret" },
    workspaceId: "micws_1",
    downloadDir: "/data",
    warnings: [],
  });
});

test("the manifest starts a server with geography if the user answers only the required questions", () => {
  expect(readConfig(environmentFor(service))).toMatchObject({
    baseUrl: "https://service.example",
    credentials: undefined,
    workspaceId: undefined,
    downloadDir: expect.stringMatching(/^\/[^$]*Downloads$/),
  });
});

test("the manifest marks the secret as sensitive and has no default for it", () => {
  const secrets = Object.values(manifest.user_config).filter(({ title }) => /secret/i.test(title));
  expect(secrets).toHaveLength(1);
  expect(secrets[0]).toMatchObject({ sensitive: true });
  expect(secrets[0]?.default ?? "").toBe("");
});
