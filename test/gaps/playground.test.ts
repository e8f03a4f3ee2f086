// The playground as the contract leaves it open: what an unknown state is answered with, and when it says 403.
import { expect } from "vitest";
import { districtsResponse, openApiDocument, state, statesResponse } from "../contract/samples.ts";
import { proves } from "../proves.ts";
import { answer, type Step } from "../support/stub.ts";
import { sessionForFile, sessionForTest } from "./session.ts";

const session = sessionForFile();

const denied = answer(403, { status: "PLAYGROUND_REQUEST_DENIED" });
const invalid = { status: "INVALID_PLAYGROUND_REQUEST" };
const { contract } = statesResponse;

const unknown: readonly (readonly [string, Step])[] = [
  ["400", answer(400, invalid)],
  ["400 and nothing", answer(400)],
  ["404", answer(404, invalid)],
  ["404 and HTML", answer(404, "<html>no such page</html>", { "content-type": "text/html" })],
  ["an empty list of no name", answer(200, { contract, state: "", districts: [] })],
  ["an empty list of the code's name", answer(200, { contract, state: "ZZ", districts: [] })],
];
for (const [at, [what, step]] of unknown.entries())
  proves("4.1/assumes-no-answer-to-unknown-state", `no such state, when the service says ${what}`, async () => {
    const { stub, connection } = session();
    const code = `Z${"ABCDEF"[at]}`;
    stub.respond(({ target }) => (target.includes("/geo/districts") ? step : answer(200, statesResponse)));
    const { error, text } = await connection.callTool("list_districts", { state: code });
    expect(error, text).toMatchObject({
      kind: "not_found",
      retryable: false,
      sideEffect: "none",
      next: expect.stringContaining("list_states"),
    });
    expect(text).toContain(`No such state: ${code}`);
    expect(stub.requests.some(({ target }) => target.endsWith(`state=${code}`))).toBe(true);
  });

proves("7.1/assumes-no-condition-of-403", "a 403 is told as it came, and the next call asks again", async () => {
  const { stub, connection } = await sessionForTest();
  for (const [tool, args, whole] of [
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
    stub.expect(answer(200, whole));
    expect(await connection.callTool(tool, args)).toMatchObject({ isError: false, structured: whole });
    expect(stub.requests).toHaveLength(length + 2);
  }
});

proves("7.1/assumes-no-condition-of-403", "a 403 for one state says nothing of the others", async () => {
  const { stub, connection } = await sessionForTest();
  const states = ["AA", "BB", "CC"].map((code) => ({ ...state, code, name: `State ${code}`, districtCount: 1 }));
  stub.respond(({ target }) => {
    if (target.endsWith("/geo/states")) return answer(200, { ...statesResponse, states });
    const code = target.slice(-2);
    return code === "BB" ? denied : answer(200, { ...districtsResponse, state: `State ${code}` });
  });
  const ranked = await connection.callTool("rank_divisions", { level: "district", by: "mandalCount", waitSeconds: 20 });
  expect(ranked.structured, ranked.text).toMatchObject({
    coverage: { statesTotal: 3, statesRead: 2, complete: false, unread: [{ states: ["BB"] }] },
  });
});
