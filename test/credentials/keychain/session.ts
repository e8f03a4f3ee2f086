// Helpers of the keychain tests: log in to an API, read the stored state, write entries of the keyring directly.
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import { expect } from "vitest";
import * as z from "zod/v4";
import { jobList, statesResponse } from "../../contract/samples.ts";
import { runInProcess as run } from "../../support/command.ts";
import { emulatorForTest } from "../../support/emulator.ts";
import { test as base } from "../../support/fixtures.ts";
import { connectionForTest } from "../../support/mcp.ts";
import { type Session, sessionForTest } from "../../support/secret-service.ts";
import { answer } from "../../support/stub.ts";

/**
 * In addition to the stub: a session with an unlocked keychain, a separate emulator, and a client of a server in this session. The
 * session of a `connection` is logged in to the stub, which lists jobs and states.
 */
export const test = base
  .extend("session", async () => await sessionForTest())
  .extend("emulator", async () => await emulatorForTest())
  .extend("connection", async ({ session, stub }) => {
    stub.respond(({ target }) => answer(200, target.includes("/playground/") ? statesResponse : jobList));
    await storeLogin(session, { baseUrl: stub.baseUrl, workspaceId: "micws_1" });
    return await connectionForTest("v2-modern", { env: session.env });
  });

export const client = { clientId: "stub-client", clientSecret: "s3cr3t-0123456789abcdef" } as const;

export interface Login {
  readonly baseUrl: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly workspaceId?: string;
  readonly profile?: string;
  /** Text on stdin (default: the secret and a line break). */
  readonly input?: string;
}

/** Unlocked, on a bus that forwards no messages: the worst case for a keychain. */
export async function createFrozenSession(): Promise<Session> {
  const session = await sessionForTest();
  session.freezeBus();
  return session;
}

/** Runs `mic-mcp login` as a script does. */
export function login(session: Session, { baseUrl, clientId = client.clientId, ...rest }: Login) {
  const { clientSecret = client.clientSecret, workspaceId, profile, input = `${clientSecret}\n` } = rest;
  const workspace = workspaceId === undefined ? [] : ["--workspace-id", workspaceId];
  const args = ["login", "--base-url", baseUrl, "--client-id", clientId, ...workspace, "--secret-stdin"];
  if (profile !== undefined) args.push("--profile", profile);
  return run(args, { env: session.env, input });
}

export async function expectLogin(session: Session, credentials: Login): Promise<void> {
  expect(await login(session, credentials)).toMatchObject({ code: 0, stderr: "" });
}

const Token = z.strictObject({ scopes: z.string(), ageSeconds: z.number(), expiresInSeconds: z.number().optional() });
/** The fields that tests read by name; the others are compared as they are. */
const Settings = z.looseObject({
  clientId: z.looseObject({ value: z.string().optional() }),
  keychain: z.strictObject({ mode: z.string(), state: z.string(), detail: z.string().optional() }),
  tokens: z.array(Token),
});

export async function readSettings(session: Session, env: Readonly<Record<string, string>> = {}) {
  const { stdout, stderr } = await run(["doctor", "--offline", "--json"], { env: { ...session.env, ...env } });
  expect(stderr).toBe("");
  return Settings.parse(JSON.parse(stdout).settings);
}

export const nothing = {
  baseUrl: { from: "not set" },
  clientId: { from: "not set" },
  clientSecret: { from: "not set" },
  tokens: [],
} as const;

export const addon = createRequire(import.meta.url).resolve("@napi-rs/keyring");
const execute = promisify(execFile);

export async function putEntry(session: Session, account: string, bytes: string | Buffer): Promise<void> {
  const script = `const { Entry } = require(process.argv[1]);
    new Entry("mic-mcp", process.argv[2], { linux: { store: "secret-service" } })
      .setSecret(Buffer.from(process.argv[3], "base64"));`;
  const base64 = Buffer.from(bytes).toString("base64");
  await execute(process.execPath, ["-e", script, addon, account, base64], { env: { ...session.env } });
}

/** Stores the same entry as `login`, without running the program that verifies it: for tests of later steps. */
export const storeLogin = (session: Session, { baseUrl, workspaceId }: Pick<Login, "baseUrl" | "workspaceId">) =>
  putEntry(session, "login", JSON.stringify({ ...client, baseUrl, workspaceId }));

export const refusedClient = answer(401, { error: "invalid_client" });

/** State, parent and further facts of a process; empty after its end. */
function readProcessFacts(pid: number): readonly string[] {
  try {
    // They follow the command name, which may contain any characters.
    return readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
  } catch {
    return [];
  }
}

export const childrenOf = (pid: number): number[] =>
  readdirSync("/proc")
    .map(Number)
    .filter((each) => each > 0 && Number(readProcessFacts(each)[1]) === pid);

/** A process that has ended, and whose parent has not waited for it, is still listed as a zombie. */
export const isAlive = (pid: number): boolean => /^[^ZX]/.test(readProcessFacts(pid)[0] ?? "");
