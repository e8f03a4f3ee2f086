// Starts a deployment for teams: PostgreSQL, an emulator, an identity provider, instances, and a balancer.
import { randomBytes } from "node:crypto";
import { type ClientFacts, startEmulator } from "../../src/emulator/index.ts";
import { haproxyMissing, startHaproxy } from "./balancers.ts";
import { runInProcess } from "./command.ts";
import { startFleet } from "./fleet.ts";
import { freePort } from "./free-port.ts";
import { type IdentityProviderOptions, startIdentityProvider } from "./identity-provider.ts";
import { writeKeyFile } from "./key-file.ts";
import type { Caller } from "./load.ts";
import type { ClientRevision } from "./mcp.ts";
import { type PostgresServer, postgresMissing, startPostgres } from "./postgres.ts";

export const deploymentMissing = postgresMissing ?? haproxyMissing;

export interface Team {
  readonly name: string;
  /** Value in a token's `groups` claim that grants membership. */
  readonly claim: string;
  readonly client: ClientFacts;
}

export interface DeploymentOptions {
  readonly instances: number;
  readonly teams: number;
  /** Environment of the instances, in addition to that of every test deployment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly isolated?: boolean;
  /** Port of the balancer (default: any free port). */
  readonly port?: number;
  readonly provider?: IdentityProviderOptions;
  /** Base URL of the teams' API (default: the emulator). */
  readonly service?: string;
  /** A server without replicas (default: a separate one), or the value of MIC_DATABASE_URL for any other server. */
  readonly postgres?: PostgresServer;
  readonly databaseUrl?: string;
}

/** More than any test produces: records that the emulator drops would look like lost actions. */
const EXECUTIONS = 1_000_000;

export async function startDeployment(options: DeploymentOptions) {
  const cleanups: (() => Promise<unknown> | unknown)[] = [];
  const stop = async (): Promise<void> => {
    for (const each of cleanups.splice(0).reverse()) await each();
  };
  const withCleanup = <T>(value: T, cleanUp: (value: T) => Promise<unknown> | unknown): T => {
    cleanups.push(() => cleanUp(value));
    return value;
  };
  try {
    const openPostgres = async () => options.postgres ?? withCleanup(await startPostgres(), (it) => it.stop());
    const postgres = options.databaseUrl === undefined ? await openPostgres() : undefined;
    const databaseUrl = options.databaseUrl ?? (await postgres?.createDatabase()) ?? "";
    const emulatorOptions = { clients: options.teams, maxExecutionRecords: EXECUTIONS };
    const emulator = withCleanup(await startEmulator(emulatorOptions), (it) => it.close());
    const provider = withCleanup(await startIdentityProvider(options.provider), (it) => it.stop());
    const port = options.port ?? (await freePort());
    const origin = `http://127.0.0.1:${port}`;
    const env = {
      MIC_PUBLIC_URL: origin,
      MIC_AUTH_ISSUER: provider.issuer,
      MIC_DATABASE_URL: databaseUrl,
      MIC_SECRET_KEYS_FILE: writeKeyFile(`of-the-tests ${randomBytes(32).toString("base64")}`),
      MIC_TRUST_PROXY: "127.0.0.1",
      MIC_BASE_URL: emulator.baseUrl,
      MIC_CALLER_RATE_LIMIT: "100000",
      MIC_LOG_LEVEL: "error",
      ...(postgres && { MIC_DATABASE_DURABILITY: "local" }),
      ...options.env,
    };
    /** Runs `mic-mcp` on this deployment and returns its stdout. Rejects if the command fails. */
    const runCommand = async (args: readonly string[], input = ""): Promise<string> => {
      const { code, stdout, stderr } = await runInProcess(args, { env, input });
      if (code !== 0) throw new Error(`mic-mcp ${args[0]}: ${stderr}`);
      return stdout;
    };
    const teams: readonly Team[] = emulator.clients.map((client, index) => ({
      name: `team-${index + 1}`,
      claim: `group-${index + 1}`,
      client,
    }));
    for (const { name, claim, client } of teams) {
      const flags = ["--client-id", client.clientId, "--workspace-id", client.workspaceId, "--claim", claim];
      await runCommand(
        ["teams", "add", name, "--base-url", options.service ?? emulator.baseUrl, ...flags, "--secret-stdin"],
        client.clientSecret,
      );
    }
    const { instances, isolated = false } = options;
    const fleet = withCleanup(await startFleet({ instances, env, isolated }), (it) => it.stop());
    const urls = fleet.instances.map(({ url }) => url);
    const balancer = withCleanup(await startHaproxy(urls, { port }), (it) => it.stop());
    const url = `${origin}/mcp`;
    const issueToken = (subject: string, members: readonly Team[], scope?: string) =>
      provider.issueToken(url, {
        subject,
        groups: members.map(({ claim }) => claim),
        // Longer than any test.
        seconds: 43_200,
        scope,
      });
    return {
      ...{ url, emulator, provider, databaseUrl, teams, fleet, balancer, env, issueToken, runCommand, stop },
      createCallers: (count: number, revisions: readonly ClientRevision[] = ["v2-modern", "v1-client", "v2-legacy"]) =>
        Promise.all(
          Array.from({ length: count }, async (_, index): Promise<Caller> => {
            const team = teams[index % teams.length];
            if (team === undefined) throw new Error("a caller needs a team");
            const name = `caller-${index + 1}`;
            return {
              ...{ name, url },
              token: await issueToken(name, [team]),
              revision: revisions[Math.floor(index / teams.length) % revisions.length] ?? "v2-modern",
              isKeyed: Math.floor(index / teams.length / revisions.length) % 2 === 1,
              fileIds: team.client.assetIds,
            };
          }),
        ),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
export type Deployment = Awaited<ReturnType<typeof startDeployment>>;
