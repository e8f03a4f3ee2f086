// Provides PostgreSQL or a deployment for all tests of a block, or skips them with the reason if its programs are missing.
import { chownSync } from "node:fs";
import { afterAll, test as base, onTestFinished } from "vitest";
import { openPostgres } from "../../src/store/postgres.ts";
import { certificateForTest } from "../support/certificate.ts";
import { type Deployment, type DeploymentOptions, deploymentMissing, startDeployment } from "../support/deployment.ts";
import { type PostgresServer, postgresMissing, postgresUser, startPostgres } from "../support/postgres.ts";
import { describeUnless } from "../support/unless.ts";

/** A start takes almost a second of CPU time, so all files of a worker share one server, and each test creates a database. */
const test = base.extend(
  "postgres",
  { scope: "worker" },
  // biome-ignore lint/correctness/noEmptyPattern: Vitest requires a pattern.
  async ({}, { onCleanup }): Promise<PostgresServer> => {
    const server = await startPostgres();
    onCleanup(() => server.stop());
    return server;
  },
);

/** Opens a database until the running test ends. */
export async function databaseForTest(...where: Parameters<typeof openPostgres>) {
  const database = await openPostgres(...where);
  onTestFinished(() => database.close());
  return database;
}

/** Defines tests of a service that runs during all of them. */
function describeWith<T>(
  missing: string | undefined,
  title: string,
  start: (postgres: PostgresServer) => Promise<T>,
  tests: (service: () => T) => void,
  stop?: (service: T) => Promise<void>,
): void {
  describeUnless(missing, title, () => {
    let service: T | undefined;
    test.beforeAll(async ({ postgres }) => {
      service = await start(postgres);
    });
    afterAll(async () => service && (await stop?.(service)));
    tests(() => {
      if (!service) throw new Error("the service runs only during tests");
      return service;
    });
  });
}

export const describeWithPostgres = (title: string, tests: (postgres: () => PostgresServer) => void): void =>
  describeWith(postgresMissing, title, async (postgres) => postgres, tests);

export function describeWithDeployment(
  title: string,
  options: DeploymentOptions,
  tests: (deployment: () => Deployment) => void,
): void {
  const start = (postgres: PostgresServer) => startDeployment({ ...options, postgres });
  describeWith(deploymentMissing, title, start, tests, (deployment) => deployment.stop());
}

/** Starts a PostgreSQL server with TLS until the running test ends. pgbouncer can read its certificate and key, too. */
export async function tlsPostgresForTest() {
  const { folder, cert, key } = await certificateForTest();
  if (postgresUser !== undefined) for (const path of [folder, cert, key]) chownSync(path, postgresUser, -1);
  const server = await startPostgres(["ssl=on", `ssl_cert_file=${cert}`, `ssl_key_file=${key}`]);
  onTestFinished(() => server.stop());
  return { server, cert, key };
}
