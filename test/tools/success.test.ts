// Tests one successful call of each tool: the request that was sent, and the result that the agent gets.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { fillPath } from "../emulator/service.ts";
import { isPost, type ListedOperation, type OperationId, type OperationRow, rows } from "../operations.ts";
import type { ClientRevision } from "../support/mcp.ts";
import type { Bench, SentRequest } from "./bench.ts";
import { OWN_TOOLS, VIEW_TOOLS, validCall } from "./catalogue.ts";
import { createFreshBench, isPlayground } from "./fresh-bench.ts";
import { describeEachRevision } from "./revisions.ts";

const isList = (row: OperationRow): boolean => row.id.startsWith("list");
const ACTION = z.strictObject({ idempotencyKey: z.string(), replayed: z.literal(false), attempts: z.literal(1) });

/** Requests all fields of the contract if the tool shows fewer by default. */
const fullViewArguments = ({ extraArguments = {} }: OperationRow) => ("view" in extraArguments ? { view: "full" } : {});

async function callOnce(
  shared: Bench,
  revision: ClientRevision,
  row: ListedOperation,
  extra: Readonly<Record<string, unknown>> = {},
) {
  const bench = isPlayground(row) ? await createFreshBench(shared, revision) : shared;
  const args = isPost(row.id) ? await bench.newAction(row.id) : await bench.argumentsFor(row.id);
  let result: Awaited<ReturnType<Bench["ok"]>> | undefined;
  const sent = await bench.captureRequests(async () => {
    result = await bench.ok(row.tool, { ...args, ...extra });
  });
  if (result === undefined) throw new Error("not called");
  return { args, result, request: onlyRequest(sent, row.id) };
}

/** The one request of the operation; cancel_job reads the job's version before. */
function onlyRequest(sent: readonly SentRequest[], id: OperationId): SentRequest {
  const expected = id === "cancelMicJob" ? ["getMicJob", id] : [id];
  expect(sent.map(({ operationId }) => operationId)).toEqual(expected);
  const request = sent.at(-1);
  if (request === undefined) throw new Error(`nothing was sent for ${id}`);
  return request;
}

/** Path and query of the contract's table, with the values of the example. */
function targetOf(row: OperationRow, args: Readonly<Record<string, unknown>>): string {
  const named = new Set([...row.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
  const values = Object.entries(args).map(([name, value]): [string, string] => [name, String(value)]);
  const path = fillPath(row.path, Object.fromEntries(values));
  const query = row.method === "GET" ? values.filter(([name]) => !named.has(name)) : [];
  return query.length === 0 ? path : `${path}?${new URLSearchParams(query)}`;
}

describeEachRevision((bench, revision) => {
  for (const row of rows)
    test(`${row.tool} sends exactly its row of the contract and gets ${row.success} [4.1/closed-query, 4.2/base-path, 4.2/accept, 4.2/closed-query, 4.2/content-type, 4.2/idempotency-key-required, 5/bearer, 5/playground-anonymous]`, async () => {
      const { args, request } = await callOnce(bench(), revision, row);
      expect(request).toMatchObject({ method: row.method, path: targetOf(row, args), status: row.success });
      const { headers } = request;
      expect(headers["accept"]).toBe(row.answer === undefined ? "application/octet-stream" : "application/json");
      expect(headers["authorization"]).toBe(row.scopes.length === 0 ? undefined : "Bearer");
      expect(headers["content-type"]).toBe(row.method === "POST" ? "application/json" : undefined);
      expect(request.idempotencyKey !== undefined).toBe(row.method === "POST");
      expect("if-match" in headers).toBe(row.id === "cancelMicJob");
    });

  for (const row of rows.filter(({ answer }) => answer !== undefined))
    test(`${row.tool} returns the contract's fields in its strict schema (an action: the summary view)`, async () => {
      const { result, request } = await callOnce(bench(), revision, row, isList(row) ? {} : fullViewArguments(row));
      const { summary, nextStep, action, ...body } = result.structured;
      expect(result.drift).toBeUndefined();
      // The id of the API's response is for logs and the operator, so that no model reads it.
      const isGeography = row.path.startsWith("/api/");
      const { requestId } = result;
      if (!isGeography) expect(requestId).toMatch(/^micreq_/);
      if (row.method === "POST") expect(Object.keys(body)).toEqual(["data"]);
      else if (!isList(row)) row.answer?.parse(isGeography ? body : { ...body, meta: { requestId } });
      else if (!isGeography) expect(Object.keys(body).sort()).toEqual(["data", "page"]);
      if (row.method === "POST") expect(ACTION.parse(action).idempotencyKey).toBe(request.idempotencyKey);
      else expect(action).toBeUndefined();
      expect(summary).toMatch(/^[A-Z\d].*\.$/);
    });

  test.each(Object.keys({ ...OWN_TOOLS, ...VIEW_TOOLS }))("%s succeeds with its sample call", async (tool) => {
    const { isError, text } = await bench().call(tool, await validCall(tool, await bench().world()));
    expect(isError, text).toBe(false);
  });
});
