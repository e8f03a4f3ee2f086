// What the start takes for a usual configuration, the program takes too, without a warning, and reads the same of it.
import fc from "fast-check";
import { expect, test } from "vitest";
import { usualSettings } from "../../../src/cli/start/settings.ts";
import { readConfig, UsageError } from "../../../src/config.ts";

/** Of each variable, what may stand there: right, wrong and unusual. */
const values: Readonly<Record<string, readonly string[]>> = {
  MIC_BASE_URL: [
    "http://h",
    "https://a.example:8443/v1/",
    "http://127.0.0.1:1",
    "http://u:p@h",
    "http://999.1.1.1",
    "http://h:99999",
    "ftp://h",
    "http://h?x",
    "http://..",
    "http://[::1]:80",
    "HTTP://H",
  ],
  MIC_EMULATOR: ["0", "1", "true", "false", "yes"],
  MIC_CLIENT_ID: ["client", "a b", "é"],
  MIC_CLIENT_SECRET: ["a-secret", " ", "\t"],
  MIC_WORKSPACE_ID: [
    "micws_1",
    "a..b",
    "a",
    "",
    "-a",
    "x".repeat(128),
    "x".repeat(129),
    "$" + "{user_config.workspace}",
    "$&",
  ],
  MIC_STATE_DIR: ["/tmp/x", ""],
  MIC_DOWNLOAD_DIR: ["downloads"],
  MIC_KEYCHAIN: ["auto", "require", "off", "Off"],
  MIC_JOURNAL_URL: [
    "postgres://u:p@h/d",
    "postgresql://h",
    "postgres://u:%zz@h",
    "postgres://",
    "mysql://h",
    "postgres://u:p%40@h/d",
  ],
  MIC_ACTION_RETENTION_DAYS: ["1", "3650", "3651", "0", "01", "1e3", "-1"],
  MIC_GEOGRAPHY_RATE: ["600", "601", "28"],
  MIC_HTTP_TOKEN: ["0123456789abcdef", "short"],
  MIC_CONFIRM: ["auto", "never", "always"],
  MIC_APPS: ["auto", "always", "never", "yes"],
  MIC_READ_ONLY: ["0", "1", "true"],
  MIC_TOOLSETS: ["geography", "jobs", "geography,jobs", "jobs, geography", "jobs,jobs", "none", "geography,"],
  MIC_LOG_LEVEL: ["debug", "silent", "loud"],
  MIC_NOT_A_VARIABLE: ["1"],
};

type Environment = Readonly<Record<string, string>>;

/** What the program makes of it, as far as the start cares; undefined where it warns or refuses. */
function readByProgram(environment: Environment) {
  try {
    const { emulator, toolsets, readOnly, apps, workspaceId, warnings } = readConfig(environment);
    if (emulator || warnings.length > 0) return undefined;
    return { geography: toolsets.includes("geography"), jobs: toolsets.includes("jobs"), readOnly, apps, workspaceId };
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return undefined;
  }
}

const settled = { MIC_BASE_URL: "http://h", MIC_CLIENT_ID: "i", MIC_CLIENT_SECRET: "a-secret" };

test.each(Object.entries(values))("%s is taken only as the program takes it", (name, texts) => {
  for (const text of texts)
    for (const rest of [settled, { MIC_KEYCHAIN: "off" }, { MIC_WORKSPACE_ID: "micws_1" }]) {
      const environment: Environment = { ...rest, [name]: text };
      const settings = usualSettings(environment);
      if (settings) expect(settings).toMatchObject(readByProgram(environment) ?? { refused: environment });
    }
});

test("so it is with all of them together", () => {
  const variables = Object.entries(values).map(([name, texts]) =>
    fc.option(fc.constantFrom(...texts), { nil: undefined, freq: 2 }).map((text) => [name, text] as const),
  );
  fc.assert(
    fc.property(fc.tuple(...variables), (pairs) => {
      const environment = Object.fromEntries(
        pairs.flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])),
      );
      const settings = usualSettings(environment);
      if (settings) expect(settings).toMatchObject(readByProgram(environment) ?? { refused: environment });
    }),
    { numRuns: 3_000 },
  );
});

test("whatever is usual is met, with each variable that a stdio server has", () => {
  const usual = {
    ...settled,
    MIC_WORKSPACE_ID: "micws_1",
    MIC_STATE_DIR: "/s",
    MIC_DOWNLOAD_DIR: "/d",
    MIC_KEYCHAIN: "require",
    MIC_JOURNAL_URL: "postgres://u:password@h/d",
    MIC_ACTION_RETENTION_DAYS: "3650",
    MIC_GEOGRAPHY_RATE: "600",
    MIC_CONFIRM: "never",
    MIC_READ_ONLY: "1",
    MIC_TOOLSETS: "jobs",
    MIC_LOG_LEVEL: "debug",
    OTHER: "x",
  };
  expect(usualSettings(usual)).toEqual({
    geography: false,
    jobs: true,
    readOnly: true,
    apps: "auto",
    workspaceId: "micws_1",
    secrets: ["a-secret", "password"],
  });
});

test("a configuration that only a login completes waits for it", () => {
  const isMet = (environment: Environment) => usualSettings(environment) !== undefined;
  expect(isMet({})).toBe(false);
  expect(isMet({ MIC_BASE_URL: "http://h" })).toBe(false);
  expect(isMet(settled)).toBe(true);
  expect(isMet({ MIC_WORKSPACE_ID: "micws_1" })).toBe(true);
  expect(isMet({ MIC_KEYCHAIN: "off" })).toBe(true);
  expect(isMet({ MIC_KEYCHAIN: "off", MIC_NOT_A_VARIABLE: "1" })).toBe(false);
});
