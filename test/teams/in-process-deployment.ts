// Starts an identity provider and small tools behind the product's HTTP front end in this process, and records calls.
import { McpServer } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import * as z from "zod/v4";
import { createTransport } from "../../src/api-client/transport.ts";
import type { Subscriptions } from "../../src/mcp/resources/subscriptions.ts";
import type { Caller } from "../../src/teams/caller.ts";
import { type CallerService, type PublicServerOptions, startPublicServer } from "../../src/teams/frontend/frontend.ts";
import { type AccessTokenOptions, createAccessTokens } from "../../src/teams/oauth/access-tokens.ts";
import { createHealthCheck, type HealthCheck } from "../../src/teams/readiness.ts";
import type { HttpServer } from "../../src/transports/http/listener.ts";
import { createModernClient, type McpTestClient } from "../mcp/http/raw-client.ts";
import { freePort } from "../support/free-port.ts";
import {
  type IdentityProvider,
  type IdentityProviderOptions,
  SCOPES,
  startIdentityProvider,
  type TokenOptions,
} from "../support/identity-provider.ts";
import { createLatch } from "../support/latch.ts";

const noop = (): void => undefined;
export const TEAM = "red";

export const healthCheckForTest = (
  run: () => Promise<object | undefined>,
  monotonicMs: () => number = () => performance.now(),
): HealthCheck => createHealthCheck({ run, monotonicMs, name: "database", log: { info: noop, warn: noop } });

export interface Deployment extends HttpServer {
  readonly provider: IdentityProvider;
  /** The audience that tokens must have. */
  readonly resource: string;
  /** The headers of a request with a new token: alice's, unless `options` name another subject. */
  bearer(options?: TokenOptions): Promise<{ readonly authorization: string }>;
  /** A client of revision 2026-07-28 with such a token. */
  connectAs(options?: TokenOptions): Promise<McpTestClient>;
  /** Tool calls that have begun, with their callers. */
  readonly calls: readonly { readonly tool: string; readonly caller: Caller; readonly team: string | undefined }[];
  readonly log: readonly string[];
  /** Lets all calls of `wait` return. */
  release(): void;
}

export interface DeploymentOptions extends Partial<Omit<PublicServerOptions, "tokens">> {
  readonly provider?: IdentityProvider | IdentityProviderOptions;
  readonly tokens?: Partial<AccessTokenOptions>;
}

export async function providerForTest(options: IdentityProviderOptions = {}): Promise<IdentityProvider> {
  const provider = await startIdentityProvider(options);
  onTestFinished(() => provider.stop());
  return provider;
}

const noSubscriptions = (): Subscriptions => ({
  ...{ setUpdateHandler: noop, unsubscribe: noop, unsubscribeAll: noop, close: noop },
  canWatch: () => true,
  subscribe: () => Promise.resolve(true),
});

/**
 * Starts the deployment with three tools: `look` reads, `act` changes something, and `wait` reads but returns only after
 * `release()`.
 */
export async function deploymentForTest({
  provider: providerOrOptions,
  tokens: tokenOptions = {},
  ...options
}: DeploymentOptions = {}): Promise<Deployment> {
  const provider =
    providerOrOptions && "issuer" in providerOrOptions ? providerOrOptions : await providerForTest(providerOrOptions);
  const calls: Deployment["calls"][number][] = [];
  const log: string[] = [];
  const { released, release } = createLatch();
  const transport = createTransport({ proxies: false });
  onTestFinished(() => transport.close());
  const write = (_facts: object, line: string) => void log.push(line);
  const logger = { debug: noop, info: write, warn: write, error: write };

  function serviceFor(caller: Caller, team: string | undefined): CallerService {
    const registerTool = (server: McpServer, tool: string, finished: Promise<void>) =>
      server.registerTool(tool, { inputSchema: z.object({}) }, async () => {
        calls.push({ tool, caller, team });
        await finished;
        return { content: [{ type: "text", text: `${tool} for ${caller.subject}` }] };
      });
    return {
      createServer() {
        const server = new McpServer({ name: "test", version: "1" }, {});
        registerTool(server, "look", Promise.resolve());
        registerTool(server, "act", Promise.resolve());
        registerTool(server, "wait", released);
        return server;
      },
      createSubscriptions: noSubscriptions,
      rightFor: ({ method, params }) =>
        method === "tasks/cancel" || (method === "tools/call" && Object(params)["name"] === "act") ? "act" : "read",
      redact: (json) => json,
      log: logger,
    };
  }

  const services = new Map<string, CallerService>();
  const port = options.port ?? (await freePort());
  const publicOrigin = options.publicOrigin ?? `http://127.0.0.1:${port}`;
  const resource = `${publicOrigin}/mcp`;
  const server = await startPublicServer({
    async serviceOf(caller, team) {
      if (team !== undefined && team !== TEAM) return undefined;
      const key = JSON.stringify([caller.id, team]);
      const service = services.get(key) ?? serviceFor(caller, team);
      services.set(key, service);
      return service;
    },
    tokens: createAccessTokens({
      issuer: provider.issuer,
      teamClaim: "groups",
      scopes: SCOPES,
      tokens: "jwt",
      client: undefined,
      transport,
      now: () => Date.now(),
      monotonicMs: () => performance.now(),
      ...tokenOptions,
    }),
    audience: resource,
    scopes: SCOPES,
    signInScopes: [SCOPES.read],
    teamClaim: "groups",
    callerLimits: { rate: 1_000, calls: 100 },
    databaseCheck: healthCheckForTest(async () => undefined),
    isTrustedProxy: undefined,
    allowedOrigins: [],
    redact: (json) => json,
    log: logger,
    monotonicMs: () => performance.now(),
    address: "127.0.0.1",
    ...options,
    port,
    publicOrigin,
  });
  onTestFinished(() => server.drain(0, AbortSignal.abort()));
  const bearer: Deployment["bearer"] = async (token = {}) => ({
    authorization: `Bearer ${await provider.issueToken(resource, token)}`,
  });
  const connectAs: Deployment["connectAs"] = async (token) => createModernClient(server.url, {}, await bearer(token));
  return { ...server, provider, resource, bearer, connectAs, calls, log, release };
}
