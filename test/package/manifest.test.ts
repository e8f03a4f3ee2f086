// Tests how manifest.json, which makes the package an MCP bundle, configures the server.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readConfig } from "../../src/core/config.ts";
import { Manifest, resolveServer } from "./bundle-host.ts";

const manifest = Manifest.parse(JSON.parse(readFileSync("manifest.json", "utf8")));

function environmentFor(answers: Readonly<Record<string, string>>): Record<string, string> {
  const { args, env } = resolveServer(manifest, "/extensions/mic-mcp", "/home/person", answers);
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
    readOnly: false,
    warnings: [],
  });
});

test("the manifest offers read-only tools, a toolset and a profile", () => {
  const answers = { read_only: "true", toolsets: "geography", profile: "work" };
  expect(readConfig(environmentFor({ ...service, ...answers }))).toMatchObject({
    readOnly: true,
    toolsets: ["geography"],
    profile: "work",
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
