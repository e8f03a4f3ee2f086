// Tests that each operation requests exactly the scopes of docs/contract.md, 5.
import { expect, test } from "vitest";
import { credentials, stubEnv } from "../api-client/client.ts";
import { sampleArguments } from "../fields.ts";
import { jobOperations } from "../operations.ts";
import { inProcessClientForFile } from "../support/mcp.ts";
import { answer, stubForFile } from "../support/stub.ts";

const stubOf = stubForFile();

const connectionOf = inProcessClientForFile("v2-modern", () => stubEnv(stubOf()));

const table = jobOperations.map((row) => {
  // With a version, cancel_job does not read the job first.
  const version = row.ifMatch && { resourceVersion: 3 };
  return [row.tool, { ...sampleArguments(row), ...version }, row.scopes.join(" ")] as const;
});

const tokenFor = (scope: string): string => `token-${Buffer.from(scope).toString("base64url")}`;

test("every tool sends a token with exactly its operation's scopes", {
  tags: [
    "5/token-endpoint",
    "5/token-basic",
    "5/token-form",
    "5/bearer",
    "5/scope-covers-operation",
    "5/scopes-capabilities",
    "5/scopes-register-input",
    "5/scopes-get-input",
    "5/scopes-download-asset",
    "5/scopes-recipes",
    "5/scopes-run-jobs",
    "5/scopes-read-jobs",
    "5/scopes-cancel-job",
    "5/scopes-get-operation",
    "5/scopes-usage",
    "5/scopes-create-processing-request",
  ],
}, async () => {
  const stub = stubOf();
  stub.respondToToken(({ body }) =>
    answer(200, { access_token: tokenFor(new URLSearchParams(body.toString()).get("scope") ?? "") }),
  );
  stub.respond(() => answer(404));
  const connection = connectionOf();
  const tools = await connection.listTools();
  const others = /states|district|divisions|geography|(list|resolve)_actions|run_job|(?<!list)_jobs$|save_table/;
  const names = tools.map(({ name }) => name).filter((name) => !others.test(name));
  expect(names.sort()).toEqual(table.map(([tool]) => tool).sort());
  for (const [tool, args, scopes] of table) {
    const before = stub.requests.length;
    expect((await connection.callTool(tool, args)).error).toMatchObject({ kind: "not_found" });
    expect(stub.requests.slice(before).map(({ headers }) => [tool, headers.authorization])).toEqual([
      [tool, `Bearer ${tokenFor(scopes)}`],
    ]);
  }
  // One request per scope set, each in the form of section 5.
  const sets = [...new Set(table.map(([, , scopes]) => scopes))];
  expect(stub.tokenRequests).toHaveLength(sets.length);
  const basic = `Basic ${Buffer.from(`${credentials.clientId}:${credentials.clientSecret}`).toString("base64")}`;
  for (const [n, { method, target, headers, body }] of stub.tokenRequests.entries()) {
    expect([method, target]).toEqual(["POST", "/sandbox/oauth/token"]);
    expect(headers).toMatchObject({ authorization: basic, "content-type": "application/x-www-form-urlencoded" });
    expect([...new URLSearchParams(body.toString())]).toEqual([
      ["grant_type", "client_credentials"],
      ["scope", sets[n]],
    ]);
  }
});

test("the geography tools request no token and send none", { tags: ["5/playground-anonymous"] }, async () => {
  const stub = stubOf();
  stub.respond(() => answer(403, { status: "PLAYGROUND_REQUEST_DENIED" }));
  const connection = connectionOf();
  await connection.callTool("list_states");
  await connection.callTool("list_districts", { state: "TG" });
  await connection.callTool("get_geography_openapi");
  expect(stub.requests).toHaveLength(3);
  expect(stub.tokenRequests).toHaveLength(0);
  for (const { headers } of stub.requests) expect(headers).not.toHaveProperty("authorization");
});
