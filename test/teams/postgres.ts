// PostgreSQL for the tests of a file; they are skipped, saying why, if there is none.
import { afterAll, beforeAll, describe } from "vitest";
import { type PostgresServer, postgresMissing, startPostgres } from "../support/postgres.ts";

/** `settings`: as after -c. */
export function describeWithPostgres(
  what: string,
  tests: (postgres: () => PostgresServer) => void,
  settings?: readonly string[],
): void {
  const skipped = postgresMissing === undefined ? "" : ` (skipped: ${postgresMissing})`;
  describe.skipIf(postgresMissing !== undefined)(`${what}${skipped}`, () => {
    let server: PostgresServer | undefined;
    beforeAll(async () => {
      server = await startPostgres(settings);
    }, 60_000);
    afterAll(() => server?.stop());
    tests(() => {
      if (!server) throw new Error("PostgreSQL is there only while tests run");
      return server;
    });
  });
}
