// PostgreSQL for the tests of a file about teams; they are skipped, saying why, where there is none.
import { afterAll, beforeAll, describe } from "vitest";
import { type PostgresServer, postgresMissing, startPostgres } from "../support/postgres.ts";

export function describeWithPostgres(what: string, tests: (postgres: () => PostgresServer) => void): void {
  const skipped = postgresMissing === undefined ? "" : ` (skipped: ${postgresMissing})`;
  describe.skipIf(postgresMissing !== undefined)(`${what}${skipped}`, () => {
    let server: PostgresServer | undefined;
    beforeAll(async () => {
      server = await startPostgres();
    }, 60_000);
    afterAll(() => server?.stop());
    tests(() => {
      if (!server) throw new Error("PostgreSQL is there only while tests run");
      return server;
    });
  });
}
