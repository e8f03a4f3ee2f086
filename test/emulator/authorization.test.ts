// Who may call what: section 5's table of scopes, written out by hand in operations.ts, against every operation.
import { expect, test } from "vitest";
import { allScopes, jobOperations, type OperationId, operations } from "../operations.ts";
import { proves } from "../proves.ts";
import { example, worldFor } from "./example.ts";
import { expectProblem } from "./http.ts";
import { basic, serviceForFile } from "./service.ts";

const service = serviceForFile();
const world = worldFor(service);

test("the table names all eleven scopes and no other", () => {
  expect([...new Set(jobOperations.flatMap(({ scopes }) => scopes))].sort()).toEqual(allScopes);
});

/** Exactly these scopes suffice; without any one of them all the others together do not. */
const needs =
  (id: OperationId, ...scopes: readonly string[]) =>
  async () => {
    const operation = operations[id];
    const enough = await service().call(operation, { ...(await example(await world(), id)), scopes });
    expect(enough.status, enough.text).toBe(operation.success);
    for (const missing of scopes) {
      const parts = await example(await world(), id);
      const others = allScopes.filter((scope) => scope !== missing);
      const answer = await service().call(operation, { ...parts, scopes: others });
      expectProblem(answer, 403);
      expect(answer.headers["www-authenticate"]).toMatch(/^Bearer\b.*error="insufficient_scope"/);
    }
    const everything = { ...(await example(await world(), id)), scopes: allScopes };
    expect((await service().call(operation, everything)).status).toBe(operation.success);
  };

proves(
  ["5/scopes-capabilities", "5/scope-covers-operation"],
  "capabilities",
  needs("getMicPublicCapabilities", "mic.capabilities:read"),
);
proves("5/scopes-register-input", "register input", needs("createMicPublicInput", "files:read", "mic.inputs:write"));
proves("5/scopes-get-input", "get input", needs("getMicPublicInput", "files:read", "mic.inputs:read"));
proves("5/scopes-download-asset", "download", needs("getMicPublicAssetContent", "files:read", "mic.assets:read"));
proves("5/scopes-recipes", "list recipes", needs("listMicExecutableRecipes", "mic.recipes:read"));
proves("5/scopes-recipes", "get recipe", needs("getMicExecutableRecipe", "mic.recipes:read"));
proves("5/scopes-run-jobs", "submit job", needs("createMicJob", "mic.jobs:run"));
proves("5/scopes-run-jobs", "retry job", needs("retryMicJob", "mic.jobs:run"));
proves("5/scopes-read-jobs", "list jobs", needs("listMicJobs", "mic.jobs:read"));
proves("5/scopes-read-jobs", "get job", needs("getMicJob", "mic.jobs:read"));
proves("5/scopes-read-jobs", "get processing request", needs("getMicSharedFileProcessingRequest", "mic.jobs:read"));
proves("5/scopes-cancel-job", "cancel job", needs("cancelMicJob", "mic.jobs:cancel"));
proves("5/scopes-get-operation", "get operation", needs("getMicPublicOperation", "mic.operations:read"));
proves("5/scopes-usage", "usage", needs("getMicPublicUsage", "mic.usage:read"));
proves(
  "5/scopes-create-processing-request",
  "create processing request",
  needs("requestMicSharedFileProcessing", "files:read", "mic.jobs:run"),
);

proves(
  ["5/bearer", "7.2/problem"],
  "without a token, every operation is a 401 that says how to authenticate",
  async () => {
    for (const operation of jobOperations) {
      const parts = await example(await world(), operation.id);
      const answer = await service().call(operation, { ...parts, headers: { authorization: undefined } });
      expectProblem(answer, 401);
      expect(answer.headers["www-authenticate"]).toMatch(/^Bearer\b/);
      // RFC 6750, section 3.1: no error code where no credentials came.
      expect(answer.headers["www-authenticate"]).not.toContain("error=");
    }
  },
);

proves("5/bearer", "what is no live token of this service is refused", async () => {
  const { clientId, clientSecret, workspaceId } = service().emulator;
  const token = await service().token(["mic.capabilities:read"]);
  const refused = [
    "Bearer",
    "Bearer ",
    "Bearer nonsense",
    `Bearer ${token}x`,
    `Bearer ${token.slice(0, -1)}`,
    `Bearer ${token} ${token}`,
    `Bearer "${token}"`,
    token,
    `Token ${token}`,
    basic(clientId, clientSecret),
    `Bearer ${"a".repeat(8000)}`,
  ];
  for (const authorization of refused) {
    const answer = await service().call(operations.getMicPublicCapabilities, {
      query: { workspaceId },
      headers: { authorization },
    });
    expectProblem(answer, 401);
    expect(answer.text).not.toContain(token);
  }
  const inQuery = `workspaceId=${workspaceId}&access_token=${token}`;
  const answer = await service().call(operations.getMicPublicCapabilities, {
    query: inQuery,
    headers: { authorization: undefined },
  });
  expectProblem(answer, 401);
});

test("the scheme's name is not case-sensitive", async () => {
  const token = await service().token(["mic.capabilities:read"]);
  for (const scheme of ["bearer", "BEARER"]) {
    const answer = await service().call(operations.getMicPublicCapabilities, {
      query: { workspaceId: service().emulator.workspaceId },
      headers: { authorization: `${scheme} ${token}` },
    });
    expect(answer.status).toBe(200);
  }
});

proves("5/scope-covers-operation", "a refused caller changes nothing", async () => {
  const commands = [];
  for (const operation of jobOperations.filter(({ method }) => method === "POST"))
    commands.push({ operation, parts: await example(await world(), operation.id) });
  const before = await service().admin("GET", "executions");
  for (const { operation, parts } of commands)
    expectProblem(await service().call(operation, { ...parts, scopes: ["mic.usage:read"] }), 403);
  expect(await service().admin("GET", "executions")).toEqual(before);
});
