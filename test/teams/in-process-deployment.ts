// Starts an identity provider and small tools behind the product's HTTP front end in this process, and records calls.
import { McpServer } from "@modelcontextprotocol/server";
import { test as base, onTestFinished } from "vitest";
import * as z from "zod/v4";
import { createTransport } from "../../src/api-client/transport.ts";
import type { Caller } from "../../src/teams/caller.ts";
import { type CallerService, type PublicServerOptions, startPublicServer } from "../../src/teams/frontend/frontend.ts";
import { createRefusals } from "../../src/teams/frontend/refusals.ts";
import { type AccessTokenOptions, createAccessTokens } from "../../src/teams/oauth/access-tokens.ts";
import { createHealthCheck } from "../../src/teams/readiness.ts";
import { withConcurrencyLimit } from "../../src/teams/tenancy/concurrency-limit.ts";
import { createModernClient } from "../mcp/http/raw-client.ts";
import { freePort } from "../support/free-port.ts";
import {
  type IdentityProviderOptions,
  SCOPES,
  startIdentityProvider,
  type TokenOptions,
} from "../support/identity-provider.ts";
import { createLatch } from "../support/latch.ts";

const REQUEST = { method: "GET", origin: "https://api.example.com", path: "/", headers: {} } as const;
const LIMITS = { timeoutMs: 60_000, maxBytes: 1, signal: new AbortController().signal };

const noop = (): void => undefined;
export const TEAM = "red";

export type Deployment = Awaited<ReturnType<typeof startDeployment>>;

export interface DeploymentOptions extends Partial<Omit<PublicServerOptions, "tokens">> {
  readonly provider?: IdentityProviderOptions;
  readonly tokens?: Partial<AccessTokenOptions>;
  /** The team of a caller (default: none is named). */
  readonly teamOf?: (caller: Caller) => string;
}

/**
 * Starts the deployment with four tools: `look` reads, `act` changes something, `wait` reads but returns only after `release()`, and
 * `fetch` sends a request to an API that answers only then.
 */
async function startDeployment({ provider: providerOptions, tokens, teamOf, ...options }: DeploymentOptions) {
  const provider = await startIdentityProvider(providerOptions);
  /** Tool calls that have begun, with their callers. */
  const calls: { readonly tool: string; readonly caller: Caller; readonly team: string | undefined }[] = [];
  const log: { readonly message: string }[] = [];
  const { released, release } = createLatch();
  const transport = createTransport({ proxies: false });
  const response = { status: 200, headers: {}, body: Buffer.alloc(0) };
  const api = withConcurrencyLimit({ ...transport, exchange: () => released.then(() => response) }, 8);
  let elapsedMs = 0;
  const monotonicMs = () => elapsedMs;
  const write = (facts: object, message: string) => void log.push({ message, ...facts });
  const logger = { isLevelEnabled: () => true, debug: noop, info: noop, warn: write, error: write };

  function serviceFor(caller: Caller, team: string | undefined): CallerService {
    const registerTool = (server: McpServer, tool: string, run: () => Promise<unknown>) =>
      server.registerTool(tool, { inputSchema: z.object({}) }, async () => {
        calls.push({ tool, caller, team });
        await run();
        return { content: [{ type: "text", text: `${tool} for ${caller.subject}` }] };
      });
    return {
      createServer() {
        const server = new McpServer({ name: "test", version: "1" }, {});
        registerTool(server, "look", async () => undefined);
        registerTool(server, "act", async () => undefined);
        registerTool(server, "wait", () => released);
        registerTool(server, "fetch", () => api.exchange(REQUEST, LIMITS));
        return server;
      },
      createSubscriptions: () => ({
        ...{ setUpdateHandler: noop, unsubscribe: noop, unsubscribeAll: noop, close: noop },
        canWatch: () => true,
        subscribe: () => Promise.resolve(true),
      }),
      rightFor: ({ method, params }) =>
        method === "tasks/cancel" || (method === "tools/call" && Object(params)["name"] === "act") ? "write" : "read",
      redact: (json) => json,
      log: logger,
      ...(teamOf && { team: teamOf(caller) }),
    };
  }

  const port = await freePort();
  const publicOrigin = options.publicOrigin ?? `http://127.0.0.1:${port}`;
  const resource = `${publicOrigin}/mcp`;
  const server = await startPublicServer({
    async serviceOf(caller, team) {
      if (team !== undefined && team !== TEAM) return undefined;
      return serviceFor(caller, team);
    },
    tokens: createAccessTokens({
      issuer: provider.issuer,
      teamClaim: "groups",
      scopes: SCOPES,
      transport,
      now: () => Date.now(),
      monotonicMs,
      ...tokens,
    }),
    audience: resource,
    scopes: SCOPES,
    signInScopes: [SCOPES.read],
    teamClaim: "groups",
    callerLimits: { rate: 1_000 },
    databaseCheck: createHealthCheck({ run: async () => undefined, monotonicMs, name: "database", log: logger }),
    isTrustedProxy: undefined,
    allowedOrigins: [],
    redact: (json) => json,
    log: logger,
    monotonicMs,
    recordRefusal: createRefusals({ log: logger, monotonicMs, ...options }),
    address: "127.0.0.1",
    ...options,
    port,
    publicOrigin,
  });
  /** The headers of a request with a new token: alice's, unless `options` name another subject. */
  const bearer = async (token: TokenOptions = {}, audience = resource) => ({
    authorization: `Bearer ${await provider.issueToken(audience, token)}`,
  });
  return {
    // `resource`: the audience that tokens must have. `release` lets all calls of `wait` return.
    ...{ ...server, provider, resource, bearer, calls, log, release },
    /** A client of revision 2026-07-28 with a new token. */
    connectAs: async (...token: Parameters<typeof bearer>) =>
      createModernClient(server.url, {}, await bearer(...token)),
    look: (token: string) =>
      createModernClient(server.url, {}, { authorization: `Bearer ${token}` }).call(1, "look", {}),
    /** Advances the monotonic clock, which only the test changes. */
    advance(ms: number): void {
      elapsedMs += ms;
    },
    async stop() {
      await server.drain(0, AbortSignal.abort());
      await transport.close();
      await provider.stop();
    },
  };
}

/** Starts a deployment until the running test ends. */
export async function deploymentForTest(options: DeploymentOptions = {}): Promise<Deployment> {
  const deployment = await startDeployment(options);
  onTestFinished(deployment.stop);
  return deployment;
}

/** Defines tests that share a `deployment` with these options in their file. Its calls are empty at the start of each test. */
export const testWithDeployment = (options: DeploymentOptions = {}) =>
  base
    // biome-ignore lint/correctness/noEmptyPattern: Vitest requires a pattern.
    .extend("shared", { scope: "file" }, async ({}, { onCleanup }) => {
      const deployment = await startDeployment(options);
      onCleanup(deployment.stop);
      return deployment;
    })
    .extend("deployment", ({ shared }): Deployment => {
      shared.calls.length = 0;
      return shared;
    });
