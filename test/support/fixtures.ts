// Defines tests with a strict stub of the API and a client of it: `test("reads a job", async ({ stub, service }) => { … })`.
import { test as base } from "vitest";
import { clientForTest } from "../api-client/client.ts";
import { stubForTest } from "./stub.ts";

/** A fixture is created only for tests that name it. `client` and its `service` send to the test's stub. */
export const test = base
  .extend("stub", async () => await stubForTest())
  .extend("client", ({ stub }) => clientForTest(stub.baseUrl))
  .extend("service", ({ client }) => client.service);
