// Tests parts of the playground that the contract leaves open: the answer to an unknown state, and the conditions of a 403.
import { expect, test } from "vitest";
import { districtsResponse, openApiDocument, state, statesResponse } from "../contract/samples.ts";
import { answer } from "../support/stub.ts";
import { sessionForTest } from "./session.ts";

const denied = answer(403, { status: "PLAYGROUND_REQUEST_DENIED" });

test("reports a 403 as it came, and the next call asks again [7.1/assumes-no-condition-of-403]", async () => {
  const { stub, connection } = await sessionForTest();
  for (const [tool, args, body] of [
    ["list_states", {}, statesResponse],
    ["list_districts", { state: state.code }, districtsResponse],
    ["get_geography_openapi", {}, openApiDocument],
  ] as const) {
    const { length } = stub.requests;
    stub.expect(denied);
    const { error } = await connection.callTool(tool, args);
    const code = "PLAYGROUND_REQUEST_DENIED";
    expect(error).toMatchObject({ kind: "forbidden", status: 403, code, retryable: false, sideEffect: "none" });
    expect(error).not.toHaveProperty("retryAfterSeconds");
    stub.expect(answer(200, body));
    expect(await connection.callTool(tool, args)).toMatchObject({ isError: false, structured: body });
    expect(stub.requests).toHaveLength(length + 2);
  }
});

test("a 403 for one state has no effect on the other states [7.1/assumes-no-condition-of-403]", async () => {
  const { stub, connection } = await sessionForTest();
  const states = ["AA", "BB", "CC"].map((code) => ({ ...state, code, name: `State ${code}`, districtCount: 1 }));
  stub.respond(({ target }) => {
    if (target.endsWith("/geo/states")) return answer(200, { ...statesResponse, states });
    const code = target.slice(-2);
    return code === "BB" ? denied : answer(200, { ...districtsResponse, state: `State ${code}` });
  });
  const ranked = await connection.callTool("rank_divisions", { level: "district", by: "mandalCount", waitSeconds: 20 });
  expect(ranked.structured, ranked.text).toMatchObject({
    coverage: { statesTotal: 3, statesRead: 2, complete: false, missing: [{ states: ["BB"] }] },
  });
});
