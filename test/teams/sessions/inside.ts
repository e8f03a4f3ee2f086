// The product in sealed sessions, inside the test's own process.
import { onTestFinished } from "vitest";
import { httpServiceOf } from "../../../src/mcp/http/serve.ts";
import { composed } from "../../support/composed.ts";
import { deploymentForTest, noticesForTest } from "./instances.ts";
import { rowsForTest } from "./rows.ts";

/** One runtime behind so many instances, which get requests in turn: their URL. Ended when the running test is done. */
export async function serveSealedInside(env: Readonly<Record<string, string>>, instances = 2): Promise<string> {
  const { runtime, close } = composed(env);
  const service = httpServiceOf(runtime);
  const parts = { serviceOf: () => service, rows: await rowsForTest(), notices: noticesForTest() };
  onTestFinished(close);
  return (await deploymentForTest(Array.from({ length: instances }, () => parts))).url;
}
