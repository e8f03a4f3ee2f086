// Tests one successful call of each tool: the request that was sent, and the result that the agent gets.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { createRequest } from "../emulator/example.ts";
import { fillPath } from "../emulator/service.ts";
import { argumentsOf } from "../fields.ts";
import { isPost, type OperationRow, rows } from "../operations.ts";
import { createFreshBench, isPlayground } from "./bench.ts";
import { OWN_TOOLS, VIEW_TOOLS, validCall } from "./catalogue.ts";
import { describeEachRevisionInProcess } from "./revisions.ts";

const ACTION = z.strictObject({ idempotencyKey: z.string(), replayed: z.literal(false) });

/** Requests all fields of the contract if the tool shows fewer by default. */
const fullView = (row: OperationRow) => (argumentsOf(row).some(({ name }) => name === "view") ? { view: "full" } : {});

const Catalog = z.union([
  z.looseObject({ states: z.array(z.looseObject({ code: z.string() })) }),
  z.looseObject({ state: z.string(), districts: z.array(z.looseObject({ code: z.string() })) }),
]);

/** The fields of the result for this answer of the API. A list of the playground is shown without its metadata, by code. */
function shownBody(answer: object): object {
  const { success, data } = Catalog.safeParse(answer);
  if (!success) return answer;
  const vintage = expect.stringContaining("2026-05-25");
  if ("states" in data)
    return { states: expect.objectContaining({ TG: { name: "Telangana", districts: 33, mandals: 621 } }), vintage };
  const codes = Object.fromEntries(
    data.districts.map(({ code, name, mandalCount }) => [code, { name, mandals: mandalCount }]),
  );
  return { state: data.state, districts: codes, vintage };
}

/** Path and query of the contract's table, with the values of the example. */
function targetOf(row: OperationRow, args: Readonly<Record<string, unknown>>): string {
  const named = new Set([...row.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
  const values = Object.entries(args).map(([name, value]): [string, string] => [name, String(value)]);
  const path = fillPath(row.path, Object.fromEntries(values));
  const query = row.method === "GET" ? values.filter(([name]) => !named.has(name)) : [];
  return query.length === 0 ? path : `${path}?${new URLSearchParams(query)}`;
}

describeEachRevisionInProcess((bench, revision) => {
  for (const row of rows)
    test(`${row.tool} sends exactly the contract's request, and returns all that the API answers`, {
      tags: [
        "4.1/closed-query",
        "4.1/states",
        "4.1/districts",
        "4.1/openapi",
        "1/playground-no-side-effects",
        "4.2/base-path",
        "4.2/accept",
        "4.2/closed-query",
        "4.2/content-type",
        "4.2/idempotency-key-required",
        "4.2/get-capabilities",
        "4.2/get-usage",
        "4.2/get-recipe",
        "4.2/get-input",
        "4.2/get-job",
        "4.2/get-operation",
        "5/bearer",
        "5/playground-anonymous",
        "8/workspace-limits-as-data",
      ],
    }, async () => {
      const own = isPlayground(row) ? await createFreshBench(bench(), revision) : bench();
      const args = isPost(row.id) ? await own.newAction(row.id) : await own.argumentsFor(row.id);
      const { result, sent } = await own.capture(() => own.ok(row.tool, { ...args, ...fullView(row) }));
      // cancel_job reads the job's version before.
      expect(sent.map(({ operationId }) => operationId)).toEqual([
        ...(row.id === "cancelMicJob" ? ["getMicJob"] : []),
        row.id,
      ]);
      const request = sent.at(-1);
      expect(request).toMatchObject({ method: row.method, path: targetOf(row, args), status: row.success });
      expect(request?.headers["accept"]).toBe(
        row.answer === undefined ? "application/octet-stream" : "application/json",
      );
      expect(request?.headers["authorization"]).toBe(row.scopes.length === 0 ? undefined : "Bearer");
      expect(request?.headers["content-type"]).toBe(row.method === "POST" ? "application/json" : undefined);
      expect(request?.idempotencyKey !== undefined).toBe(row.method === "POST");
      expect("if-match" in (request?.headers ?? {})).toBe(row.id === "cancelMicJob");

      const { summary, nextStep, action, requestId, ...body } = result.structured;
      expect(result.drift).toBeUndefined();
      expect(summary).toMatch(/^[A-Z\d].*\.$/);
      // The id of the API's response is for logs and the operator: a model reads it only in the full view.
      if (!isPlayground(row) && row.answer !== undefined) expect(result.requestId).toMatch(/^micreq_/);
      expect(requestId).toBe("view" in fullView(row) ? result.requestId : undefined);
      if (row.method === "POST") {
        expect(Object.keys(body)).toEqual(["data"]);
        expect(ACTION.parse(action).idempotencyKey).toBe(request?.idempotencyKey);
        return;
      }
      expect(action).toBeUndefined();
      if (row.answer === undefined) return;
      const direct = await own.service.call(row, await createRequest(await own.world(), row.id));
      const { meta: _meta, ...answer } = JSON.parse(direct.text);
      expect(body).toEqual(shownBody(answer));
    });

  test.each(Object.keys({ ...OWN_TOOLS, ...VIEW_TOOLS }))("%s succeeds with its sample call", async (tool) => {
    const { isError, text } = await bench().call(tool, await validCall(tool, await bench().world()));
    expect(isError, text).toBe(false);
  });
});
