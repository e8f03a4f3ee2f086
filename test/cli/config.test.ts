// Tests each variable and flag: the values it accepts and refuses, and that a refusal never shows the value.
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { settings } from "../../scripts/release/product.ts";
import { COMMANDS, flagsOf } from "../../src/cli/commands.ts";
import { listVariables, readConfig, UsageError } from "../../src/core/config.ts";
import { readVariables, type Variables } from "../../src/core/environment-variables.ts";
import { readDeploymentVariables } from "../../src/teams/settings.ts";
import { runInProcess as run } from "../support/command.ts";
import { connectionForTest } from "../support/mcp.ts";
import { words } from "../support/words.ts";

const SECRET_VALUE = "hunter2";
const LONG = "0123456789abcdef";
const INVALID: readonly (readonly [name: string, values: readonly string[], takes: string])[] = [
  [
    "MIC_BASE_URL",
    words(`service.example ftp://h/ http://u:${SECRET_VALUE}@h/ http://h/?k=1 http://h/#f http://`),
    "http",
  ],
  ["MIC_CLIENT_ID", ["id\n", "idé"], "printable ASCII"],
  ["MIC_CLIENT_SECRET", [`${SECRET_VALUE}\u0007`, `${SECRET_VALUE}é`], "printable ASCII"],
  ["MIC_CLIENT_SECRET_FILE", [SECRET_VALUE, "./secret"], "an absolute path"],
  [
    "MIC_CLIENT_SECRET_COMMAND",
    [`pass "${SECRET_VALUE}"`, "cat ~/secret", "echo $SECRET", "a | b", "a; b", " ", ...words(`$(a) [] [1] [""] ["a"`)],
    "a program and its arguments, without quotes and shell syntax",
  ],
  ["MIC_PROFILE", ["a b", "-a", ".a", "x".repeat(65), "é"], "a profile name"],
  ["MIC_WORKSPACE_ID", ["micws..1", "-a", "a b", "x".repeat(129)], "workspace id"],
  ["MIC_KEYCHAIN", ["yes", "AUTO"], "auto, require or off"],
  ["MIC_GEOGRAPHY_RATE_LIMIT", ["0", "601", "2.5", "fast", "-1"], "1 to 600"],
  [
    "MIC_HTTP_TOKEN",
    [SECRET_VALUE, ...[" ", "=", "é", '"'].map((sign) => `${SECRET_VALUE}${sign}${LONG}`)],
    "16 to 512",
  ],
  ["MIC_HTTP_TOKEN", ["x".repeat(513)], "16 to 512"],
  ["MIC_CONFIRM", ["always", "no"], "auto or never"],
  ["MIC_EMULATOR", ["yes", "2"], "1"],
  ["MIC_READ_ONLY", ["yes", "2"], "1"],
  ["MIC_STATE_DIR", ["x", "."], "an absolute path"],
  ["MIC_DOWNLOAD_DIR", ["x", "."], "an absolute path"],
  ["MIC_JOURNAL_URL", ["mysql://h/db", "db"], "a postgres:// URL"],
  ["MIC_ACTION_RETENTION_DAYS", ["0", "3651", "1.5"], "1 to 3650"],
  ["MIC_TOOLS", ["get job", "GET_JOB", ","], "tool names"],
  ["MIC_EXCLUDE_TOOLS", ["get job", "a,"], "tool names"],
  ["MIC_TOOLSETS", ["all", "jobs,geo", ",", "jobs,"], "geography, jobs"],
  ["MIC_LOG_LEVEL", ["loud", "WARN"], "debug, info, warn, error, silent"],
];

const pair = { MIC_CLIENT_ID: "id", MIC_CLIENT_SECRET: "a-secret" };

function refusalOf(environment: Record<string, string>): string {
  try {
    readConfig(environment);
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return error instanceof UsageError ? error.message : "";
  }
  throw new Error(`${JSON.stringify(environment)} was accepted`);
}

test.each(INVALID)("%s is refused with an invalid value, and an empty one counts as unset", (name, values, takes) => {
  for (const value of values) {
    const message = refusalOf({ ...pair, [name]: value });
    expect(message).toContain(name);
    expect(message).toContain(takes);
    // A short value can be part of the text that lists the accepted values.
    if (value.length > 3) expect(message).not.toContain(value);
    expect(message).not.toContain(SECRET_VALUE);
  }
  expect(readConfig({ [name]: "" })).toEqual(readConfig({}));
});

test("each variable has invalid values here, and flags of serve and settings of the bundle set only variables", () => {
  const variables = listVariables();
  const tested = INVALID.map(([name]) => name);
  expect(variables.filter((name) => !tested.includes(name))).toEqual([]);
  const own = ["http", "teams", "host", "port", "no-token"];
  const flags = flagsOf(COMMANDS.serve).flatMap(({ name }) => (own.includes(name) ? [] : [name]));
  const set = [
    ...flags.map((name) => `MIC_${name.replaceAll("-", "_").toUpperCase()}`),
    ...settings.map(({ variable }) => variable),
  ];
  expect(set.filter((name) => !variables.includes(name))).toEqual([]);
});

test.each([
  ["docs/use/configuration.md", (given: Variables) => readConfig({ HOME: "/home/x", ...given })],
  [
    "docs/operate/configuration.md",
    (given: Variables) => readVariables(given, (read) => readDeploymentVariables(read, {})).values,
  ],
] as const)("the defaults in %s are those of the program", (page, read) => {
  const rows = [...readFileSync(page, "utf8").matchAll(/^\| `(MIC_\w+)` \| [^|]* \| (?:`([^`|]+)`|(\d+)) \|/gm)];
  expect(rows.length).toBeGreaterThan(4);
  for (const [, name = "", text, number] of rows) expect(read({ [name]: text ?? number }), name).toEqual(read({}));
});

test("an invalid variable or flag is a usage error of the program, which names the variable", async () => {
  const env = { ...pair, MIC_CLIENT_SECRET: `${SECRET_VALUE}é` };
  const { code, stdout, stderr } = await run(["serve"], { env });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("MIC_CLIENT_SECRET must be printable ASCII");
  expect(stderr).not.toContain(SECRET_VALUE);
  const byFlag = await run(["serve", "--log-level", "loud"], { env: { MIC_LOG_LEVEL: "warn" } });
  expect(byFlag).toMatchObject({ code: 2, stderr: expect.stringContaining("MIC_LOG_LEVEL") });
});

test("an empty environment gives the defaults, with 600 requests per minute to an emulator in the process", () => {
  expect(readConfig({ HOME: "/home/x", PATH: "/bin" })).toMatchObject({
    baseUrl: undefined,
    credentials: undefined,
    workspaceId: undefined,
    keychain: "auto",
    confirm: "auto",
    readOnly: false,
    toolsets: ["geography", "jobs"],
    geographyRate: 28,
    logLevel: "warn",
    warnings: [],
  });
  expect(readConfig({ MIC_EMULATOR: "1" })).toMatchObject({ geographyRate: 600 });
});

test("valid values of all variables are accepted", () => {
  const config = readConfig({
    MIC_BASE_URL: "https://service.example/base///",
    ...pair,
    MIC_WORKSPACE_ID: "micws_1",
    MIC_KEYCHAIN: "require",
    MIC_CONFIRM: "never",
    MIC_EMULATOR: "true",
    MIC_GEOGRAPHY_RATE_LIMIT: "1",
    MIC_DOWNLOAD_DIR: "/tmp/downloads",
    MIC_READ_ONLY: "true",
    MIC_TOOLSETS: "jobs, geography,jobs",
    MIC_LOG_LEVEL: "silent",
  });
  expect(config).toMatchObject({
    baseUrl: "https://service.example/base",
    credentials: { clientId: "id", clientSecret: "a-secret" },
    workspaceId: "micws_1",
    keychain: "require",
    confirm: "never",
    geographyRate: 1,
    downloadDir: "/tmp/downloads",
    readOnly: true,
    toolsets: ["jobs", "geography"],
    logLevel: "silent",
    warnings: [],
  });
});

test("a variable that was removed is reported with what replaces it", () => {
  const { warnings } = readConfig({ HOME: "/home/x", MIC_HTTP_MAX_SESSIONS: "5" });
  expect(warnings).toEqual([expect.stringMatching(/^MIC_HTTP_MAX_SESSIONS was removed\. .* at most 100 sessions/)]);
});

test("all invalid variables are reported together", () => {
  const message = refusalOf({ MIC_LOG_LEVEL: "loud", MIC_CONFIRM: "no" });
  expect(message).toContain("MIC_LOG_LEVEL");
  expect(message).toContain("MIC_CONFIRM");
});

test("every accepted base URL can be extended with a path", () => {
  const part = fc.constantFrom(...words("http:// https:// h service.example :8080 / a ? # @ % [::1] é .."), " ", "\t");
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 7 }).map((parts) => parts.join("")),
      (text) => {
        let baseUrl: string | undefined;
        try {
          ({ baseUrl } = readConfig({ MIC_BASE_URL: text }));
        } catch {
          return;
        }
        if (baseUrl === undefined) return;
        const url = new URL(`${baseUrl}/sandbox/oauth/token`);
        expect(url.protocol).toMatch(/^https?:$/);
        expect(url.pathname.endsWith("/sandbox/oauth/token")).toBe(true);
        expect(url.search + url.hash + url.username).toBe("");
      },
    ),
    { numRuns: 3000 },
  );
});

test("flags take precedence over the environment", async () => {
  const connection = await connectionForTest("v2-modern", {
    args: ["--toolsets", "jobs", "--base-url", "http://127.0.0.1:1/", "--workspace-id", "micws_flag", "--read-only"],
    env: { MIC_TOOLSETS: "geography", MIC_BASE_URL: "not a URL", MIC_WORKSPACE_ID: "micws_env", MIC_READ_ONLY: "0" },
  });
  const names = (await connection.listTools()).map(({ name }) => name);
  expect(names).toContain("get_job");
  expect(names).not.toContain("list_states");
  expect(names).not.toContain("submit_job");
  expect(connection.instructions()).toContain("micws_flag");
});
