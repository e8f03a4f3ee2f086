// Tests list_districts: the meaning of an error status and of an empty list, and a catalog that has changed.
import { expect, test } from "vitest";
import { PLAYGROUND_CONTRACT } from "../../src/contract/playground.ts";
import { catalogMetadata, districtsResponse, statesResponse } from "../contract/samples.ts";
import { answer, type RecordedRequest, type Step, type Stub } from "../support/stub.ts";
import { sessionForTest } from "../unspecified/session.ts";
import { freshWith } from "./geography.ts";
import { describeLatestRevision } from "./revisions.ts";

const isStates = ({ target }: RecordedRequest): boolean => target.endsWith("/geo/states");

/** Answers every request for districts with `step`, and all others with the states list. */
const answerDistricts = (stub: Stub, step: Step, states: Step = answer(200, statesResponse)): void =>
  stub.respond((request) => (isStates(request) ? states : step));

const createError = (status: number, code: string): Step => answer(status, { status: code });
/** With a Retry-After that does not fit the call, so that no test waits. */
const createUpstreamError = (status: number): Step =>
  answer(status, { status: "PLAYGROUND_UPSTREAM_UNAVAILABLE" }, { "retry-after": "600" });
const emptyList = answer(200, { ...catalogMetadata, state: "Telangana", districts: [] });

test("the server reports an upstream error other than 404 as such, whatever its status", {
  tags: ["7.1/upstream-status-preserved"],
}, async () => {
  const { stub, connection } = await sessionForTest();
  const unavailable = { kind: "upstream_unavailable", code: "PLAYGROUND_UPSTREAM_UNAVAILABLE", retryable: true };
  for (const status of [400, 410, 502]) {
    answerDistricts(stub, createUpstreamError(status));
    // The error is caused neither by a state in the list nor by an unlisted one.
    for (const state of ["TG", "ZZ"]) {
      const { error, text } = await connection.callTool("list_districts", { state });
      expect(error, text).toMatchObject({ ...unavailable, status, sideEffect: "none" });
      expect(text).not.toMatch(/no such state/i);
      const uri = `mic://geography/states/${state}/districts`;
      await expect(connection.readResource(uri)).rejects.toThrow(/PLAYGROUND_UPSTREAM_UNAVAILABLE/);
    }
  }
});

const { contract } = statesResponse;
const unknownStateAnswers: readonly (readonly [string, Step])[] = [
  ["400", createError(400, "INVALID_PLAYGROUND_REQUEST")],
  ["404", createError(404, "INVALID_PLAYGROUND_REQUEST")],
  ["404 without a body", answer(404)],
  ["404 of the upstream", createError(404, "PLAYGROUND_UPSTREAM_UNAVAILABLE")],
  ["an empty list", emptyList],
  ["an empty list of the code's name", answer(200, { contract, state: "ZZ", districts: [] })],
];

test("the server reports an unknown state only for a code that the states list does not have, whatever the answer", {
  tags: ["4.1/state-required", "4.1/assumes-no-answer-to-unknown-state"],
}, async () => {
  for (const [what, step] of unknownStateAnswers) {
    const { stub, connection } = await sessionForTest();
    answerDistricts(stub, step);
    const unknown = await connection.callTool("list_districts", { state: "ZZ" });
    const next = expect.stringContaining("list_states");
    expect(unknown.error, what).toMatchObject({ kind: "not_found", retryable: false, sideEffect: "none", next });
    expect(unknown.text).toContain('No such state: "ZZ"');
    expect(stub.requests.some(({ target }) => target.endsWith("state=ZZ"))).toBe(true);
    const knownState = await connection.callTool("list_districts", { state: "tg" });
    expect(knownState.text, what).not.toMatch(/no such state/i);
    if (what.startsWith("an empty list")) continue;
    expect(knownState.error).toMatchObject({ status: Number(what.slice(0, 3)), sideEffect: "none" });
  }
});

test("the server returns an empty list for a state without districts", {
  tags: ["2.1/districts-response-districts", "2.1/state-counts"],
}, async () => {
  const { stub, connection } = await sessionForTest();
  const none = { ...statesResponse, states: [{ ...statesResponse.states[0], districtCount: 0, mandalCount: 0 }] };
  answerDistricts(stub, emptyList, answer(200, none));
  const { isError, structured, text } = await connection.callTool("list_districts", { state: "TG" });
  expect(isError, text).toBe(false);
  expect(structured).toMatchObject({ state: "Telangana", districts: {} });
  expect(text).toContain(
    "Telangana (TG): 0 districts, 0 mandals. The state is listed, its list of districts is empty.",
  );
  const { text: read } = await connection.readResource("mic://geography/states/TG/districts");
  expect(JSON.parse(read)).toMatchObject({ districts: [] });
});

test("the server reads the states only for an empty list of districts, and returns that list if the read fails", {
  tags: ["4.1/districts"],
}, async () => {
  const { stub, connection } = await sessionForTest();
  answerDistricts(stub, emptyList, createError(403, "PLAYGROUND_REQUEST_DENIED"));
  const empty = await connection.callTool("list_districts", { state: "ZZ" });
  expect(empty.structured, empty.text).toMatchObject({ districts: {} });
  answerDistricts(stub, answer(200, districtsResponse));
  const { length } = stub.requests;
  const { structured } = await connection.callTool("list_districts", { state: "TG" });
  expect(stub.requests).toHaveLength(length + 1);
  expect(structured).toEqual({
    state: "Telangana",
    districts: { 501: { name: "Adilabad", mandals: 21 } },
    vintage: expect.stringMatching(/^2026-03-31, .*catalogue\.example/),
    summary: expect.stringMatching(/^Telangana \(TG\): 1 district, /),
  });
});

describeLatestRevision((bench, revision) => {
  test("the districts of a changed catalog are returned as they are, also two with the same code", {
    tags: ["1/catalogue-may-change"],
  }, async () => {
    const contract = PLAYGROUND_CONTRACT;
    const state = "A state of tomorrow";
    const states = [{ code: "QX", name: state, districtCount: 0, mandalCount: 9 }];
    const district = { code: "D-1", name: "Its only district", mandalCount: 0 };
    // The contract does not promise that codes are unique.
    const answers = {
      states: { contract, states },
      districts: { QX: { contract, state, districts: [district, district] } },
    };
    const own = await freshWith(bench(), revision, answers);
    const only = { name: "Its only district", mandals: 0 };
    const { structured } = await own.ok("list_districts", { state: "QX" });
    expect(structured["districts"]).toEqual({ "D-1": only, "D-1 (2)": only });
  });
});
