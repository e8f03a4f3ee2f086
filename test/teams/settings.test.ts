// Tests the settings of a deployment: all errors are reported together, each with its fix and without its value.
import { expect, test } from "vitest";
import { readStoreSettings, readTeamsSettings } from "../../src/teams/settings.ts";
import { writeKeyFile } from "../support/key-file.ts";

const KEY = Buffer.alloc(32, 7).toString("base64");

const REQUIRED = {
  MIC_PUBLIC_URL: "https://mic.example.org",
  MIC_AUTH_ISSUER: "https://login.example.org/",
  MIC_DATABASE_URL: "postgres://mic:pass%2Fword@db.example.org/mic",
  MIC_SECRET_KEYS_FILE: writeKeyFile(`first ${KEY}`),
};

function readErrors(environment: Readonly<Record<string, string>>, host?: string): readonly string[] {
  try {
    readTeamsSettings(environment, host);
  } catch (error) {
    if (error instanceof Error && error.name === "UsageError") return error.message.split("\n");
    throw error;
  }
  return [];
}

test("four variables are enough, and the other settings have defaults", () => {
  expect(readTeamsSettings(REQUIRED)).toMatchObject({
    publicOrigin: "https://mic.example.org",
    signIn: {
      issuer: "https://login.example.org/",
      audience: "https://mic.example.org/mcp",
      teamClaim: "groups",
      scopes: { read: "mic:read", write: "mic:write" },
    },
    database: { urls: [REQUIRED.MIC_DATABASE_URL], pool: 16, durability: "synchronous", migrate: true },
    secretKeys: { first: "first" },
    isTrustedProxy: undefined,
    allowedOrigins: [],
    callerRateLimit: 120,
    auditRetentionDays: 90,
    drainDelaySeconds: 5,
    config: { keychain: "off", geographyRate: 28 },
  });
});

test.each([
  ["NODE_EXTRA_CA_CERTS", { NODE_EXTRA_CA_CERTS: "/dev/null/ca.pem" }],
  ["sslrootcert", { MIC_DATABASE_URL: `${REQUIRED.MIC_DATABASE_URL}?sslrootcert=/dev/null/ca.pem` }],
])("a CA file that cannot be read is reported: %s", (name, more) => {
  const errors = readErrors({ ...REQUIRED, ...more });
  expect(errors).toEqual([
    expect.stringMatching(`^${name}.* the file "/dev/null/ca.pem" cannot be read \\(ENOTDIR\\)`),
  ]);
});

test("scopes for the sign-in are separated by single spaces, and info is the default log level", () => {
  const settings = readTeamsSettings({ ...REQUIRED, MIC_AUTH_SIGN_IN_SCOPES: "openid mic:read mic:write" });
  expect(settings.signIn.signInScopes).toEqual(["openid", "mic:read", "mic:write"]);
  expect(settings.config.logLevel).toBe("info");
  expect(readTeamsSettings({ ...REQUIRED, MIC_LOG_LEVEL: "error" }).config.logLevel).toBe("error");
});

test("a load balancer on this machine that is not trusted, and a variable without effect, are reported at startup", () => {
  const warningsFor = (proxy?: string) =>
    readTeamsSettings({ ...REQUIRED, ...(proxy && { MIC_TRUST_PROXY: proxy }) }, "127.0.0.1").config.warnings;
  for (const proxy of [undefined, "10.0.0.10"])
    expect(warningsFor(proxy)).toEqual([expect.stringContaining("MIC_TRUST_PROXY does not contain 127.0.0.1")]);
  expect(warningsFor("127.0.0.1")).toEqual([]);
  const { warnings } = readTeamsSettings({ ...REQUIRED, MIC_HTTP_TOKEN: "0123456789abcdef" }).config;
  expect(warnings).toEqual(["MIC_HTTP_TOKEN has no effect with serve --teams."]);
});

test("a variable that was removed is reported at startup with what replaces it", () => {
  const { warnings } = readTeamsSettings({ ...REQUIRED, MIC_AUTH_TOKEN_VALIDATION: "introspection" }).config;
  expect(warnings).toEqual([expect.stringMatching(/^MIC_AUTH_TOKEN_VALIDATION was removed\. .* must be JWTs/)]);
});

test("maintenance commands need no identity provider", () => {
  const { MIC_DATABASE_URL, MIC_SECRET_KEYS_FILE } = REQUIRED;
  const { secretKeys } = readStoreSettings({ MIC_DATABASE_URL, MIC_SECRET_KEYS_FILE });
  expect(secretKeys.first).toBe("first");
});

test("every secret is given to the redactor, in each encoding", () => {
  const { secrets } = readTeamsSettings({
    ...REQUIRED,
  });
  expect(secrets).toEqual(expect.arrayContaining(["pass%2Fword", "pass/word", KEY]));
});

test("MIC_TRUST_PROXY accepts addresses and ranges of a load balancer", () => {
  const { isTrustedProxy } = readTeamsSettings(
    { ...REQUIRED, MIC_TRUST_PROXY: "10.1.0.0/16, fd00::/8,192.0.2.7" },
    "0.0.0.0",
  );
  const isTrusted = (address: string) => isTrustedProxy?.(address);
  expect(["10.1.255.1", "fd12::1", "192.0.2.7"].map(isTrusted)).toEqual([true, true, true]);
  expect(["10.2.0.1", "fe80::1", "192.0.2.8"].map(isTrusted)).toEqual([false, false, false]);
});

test.each([
  ["MIC_PUBLIC_URL", "http://mic.example.org"],
  ["MIC_PUBLIC_URL", "https://mic.example.org/somewhere"],
  ["MIC_PUBLIC_URL", "https://user@mic.example.org"],
  ["MIC_AUTH_ISSUER", "http://login.example.org"],
  ["MIC_AUTH_SCOPE_READ", "mic read"],
  ["MIC_AUTH_SIGN_IN_SCOPES", "openid,  mic:read"],
  ["MIC_DATABASE_URL", "mysql://db"],
  ["MIC_DATABASE_URL", "postgres://a/mic,nothing"],
  ["MIC_TRUST_PROXY", "balancer.example.org"],
  ["MIC_TRUST_PROXY", "10.0.0.0/33"],
  ["MIC_TRUST_PROXY", "0.0.0.0/0"],
  ["MIC_TRUST_PROXY", "10.0.0.0/255.0.0.0"],
  ["MIC_TRUST_PROXY", "10.0.0.0/"],
  ["MIC_ALLOWED_ORIGINS", "https://app.example.org/"],
  ["MIC_ALLOWED_ORIGINS", "*"],
  ["MIC_CALLER_RATE_LIMIT", "7777777"],
  ["MIC_RESTORE_GAP", "2026-07-28T09:30:00Z/2026-07-28T01:00:00Z"],
])("%s=%s is refused without quoting the value", (name, value) => {
  const errors = readErrors({ ...REQUIRED, [name]: value });
  expect(errors).toEqual([expect.stringMatching(new RegExp(`^${name} must be .+\\.$`))]);
  expect(errors.join()).not.toContain(value);
});

const withKeys = (text: string) => ({ ...REQUIRED, MIC_SECRET_KEYS_FILE: writeKeyFile(text) });
test.each([
  ["MIC_CLIENT_ID of a single-user server", { ...REQUIRED, MIC_CLIENT_ID: "1" }, /mic-mcp teams add/],
  ["MIC_DOWNLOAD_DIR of a single-user server", { ...REQUIRED, MIC_DOWNLOAD_DIR: "1" }, /as links/],
  ["MIC_STATE_DIR of a single-user server", { ...REQUIRED, MIC_STATE_DIR: "1" }, /MIC_DATABASE_URL/],
  ["MIC_EMULATOR of a single-user server", { ...REQUIRED, MIC_EMULATOR: "1" }, /mic-mcp emulator/],
  ["a missing key file", { ...REQUIRED, MIC_SECRET_KEYS_FILE: "/nowhere/keys" }, /cannot be read \(ENOENT\)/],
  ["a short key", withKeys("first c2hvcnQ="), /line 1 is not .*openssl rand -base64 32/],
  ["no key", withKeys("# nothing"), /no line has a key/],
  ["a key id twice", withKeys(`a ${KEY}\na ${KEY}`), /line 2 repeats the id of an earlier/],
])("%s is refused with the fix, and no key is quoted", (_what, environment, fix) => {
  const errors = readErrors(environment);
  expect(errors).toEqual([expect.stringMatching(fix)]);
  expect(errors.join()).not.toContain("c2hvcnQ");
});

test("plain http on another host than this machine needs a balancer that terminates TLS", () => {
  expect(readErrors(REQUIRED, "0.0.0.0")).toEqual([
    expect.stringMatching(/^MIC_TRUST_PROXY is missing: .+--host 0\.0\.0\.0/),
  ]);
  expect(readErrors({ ...REQUIRED, MIC_TRUST_PROXY: "10.0.0.1" }, "0.0.0.0")).toEqual([]);
  for (const host of ["127.0.0.1", "::1", "[::1]", "localhost"]) expect(readErrors(REQUIRED, host)).toEqual([]);
});
