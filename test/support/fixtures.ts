// Tests with a strict stub of the API and a client of it: `test("reads a job", async ({ stub, service }) => { … })`.
import { test as base } from "vitest";
import { clientForTest } from "../api-client/client.ts";
import { coversWith } from "../covers.ts";
import { type Stub, stubForTest } from "./stub.ts";

type Client = ReturnType<typeof clientForTest>;

interface Fixtures {
  readonly stub: Stub;
  readonly client: Client;
  readonly service: Client["service"];
}

/** Each fixture is made for a test that names it. `client` and its `service` send to the test's stub. */
export const test = base
  .extend("stub", async () => await stubForTest())
  .extend("client", ({ stub }) => clientForTest(stub.baseUrl))
  .extend("service", ({ client }) => client.service);

/** Like `proves` of proves.ts, with the same fixtures. */
export const covers = coversWith<Fixtures>(test);
