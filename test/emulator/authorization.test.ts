// Tests the scope table of section 5, written by hand in operations.ts, against each operation.
import { expect, test } from "vitest";
import { allScopes, jobOperations, operations } from "../operations.ts";
import { createRequest, exampleDataForFile } from "./example.ts";
import { expectProblem } from "./http.ts";
import { basic, serviceForFile } from "./service.ts";

const service = serviceForFile();
const exampleData = exampleDataForFile(service);

const callWith = (authorization: string | undefined) =>
  service().call(operations.getMicPublicCapabilities, { ...service().inWorkspace(), headers: { authorization } });

test("the scopes of an operation are sufficient, and each of them is necessary [5/scope-covers-operation, 5/scopes-cancel-job, 5/scopes-capabilities, 5/scopes-create-processing-request, 5/scopes-download-asset, 5/scopes-get-input, 5/scopes-get-operation, 5/scopes-read-jobs, 5/scopes-recipes, 5/scopes-register-input, 5/scopes-run-jobs, 5/scopes-usage]", async () => {
  const executions = () => service().admin("GET", "executions");
  for (const operation of jobOperations) {
    const parts = await createRequest(await exampleData(), operation.id);
    const sufficient = await service().call(operation, { ...parts, scopes: operation.scopes });
    expect(sufficient.status, sufficient.text).toBe(operation.success);
    for (const missing of operation.scopes) {
      const others = allScopes.filter((scope) => scope !== missing);
      const before = await executions();
      const answer = await service().call(operation, { ...parts, scopes: others });
      expectProblem(answer, 403);
      expect(await executions(), "a refused caller changes nothing").toEqual(before);
      expect(answer.headers["www-authenticate"]).toMatch(/^Bearer\b.*error="insufficient_scope"/);
    }
  }
});

test("an operation without a token gets 401 with the authentication scheme [5/bearer, 7.2/problem]", async () => {
  for (const operation of jobOperations) {
    const parts = await createRequest(await exampleData(), operation.id);
    const answer = await service().call(operation, { ...parts, headers: { authorization: undefined } });
    expectProblem(answer, 401);
    expect(answer.headers["www-authenticate"]).toMatch(/^Bearer\b/);
    // RFC 6750, section 3.1: the response has no error code if the request had no credentials.
    expect(answer.headers["www-authenticate"]).not.toContain("error=");
  }
});

test("an Authorization header without a valid bearer token of this service gets 401, and the scheme is not case-sensitive [5/bearer, 5/secret-stays-in-server]", async () => {
  const { clientId, clientSecret, workspaceId } = service().emulator;
  const token = await service().token(["mic.capabilities:read"]);
  for (const scheme of ["bearer", "BEARER"]) expect((await callWith(`${scheme} ${token}`)).status).toBe(200);
  for (const authorization of [
    "Bearer",
    `Bearer ${token.slice(0, -1)}`,
    `Bearer ${token} ${token}`,
    `Bearer ${clientSecret}`,
    token,
    `Token ${token}`,
    basic(clientId, clientSecret),
    `Bearer ${"a".repeat(8000)}`,
  ]) {
    const answer = await callWith(authorization);
    expectProblem(answer, 401);
    expect(answer.text).not.toContain(token);
  }
  const query = `workspaceId=${workspaceId}&access_token=${token}`;
  const headers = { authorization: undefined };
  expectProblem(await service().call(operations.getMicPublicCapabilities, { query, headers }), 401);
});
