// Starts a service for all tests of a block, or skips them with the reason if its programs are missing.
import { afterAll, beforeAll, describe } from "vitest";
import { type Deployment, type DeploymentOptions, deploymentMissing, startDeployment } from "../support/deployment.ts";
import { type PostgresServer, postgresMissing, startPostgres } from "../support/postgres.ts";

function describeWith<T>(
  title: string,
  { missing, start, stop }: { missing: string | undefined; start(): Promise<T>; stop(service: T): Promise<void> },
  tests: (service: () => T) => void,
): void {
  const skipped = missing === undefined ? "" : ` (skipped: ${missing})`;
  describe.skipIf(missing !== undefined)(`${title}${skipped}`, () => {
    let service: T | undefined;
    beforeAll(async () => {
      service = await start();
    }, 120_000);
    afterAll(async () => {
      if (service) await stop(service);
    });
    tests(() => {
      if (!service) throw new Error("the service runs only during tests");
      return service;
    });
  });
}

export const describeWithPostgres = (title: string, tests: (postgres: () => PostgresServer) => void): void =>
  describeWith(title, { missing: postgresMissing, start: startPostgres, stop: (server) => server.stop() }, tests);

export const describeWithDeployment = (
  title: string,
  options: DeploymentOptions,
  tests: (deployment: () => Deployment) => void,
): void =>
  describeWith(
    title,
    { missing: deploymentMissing, start: () => startDeployment(options), stop: (deployment) => deployment.stop() },
    tests,
  );
