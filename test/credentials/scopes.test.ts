// Tests that each operation requests exactly the scopes of docs/contract.md, 5.
import { expect, test } from "vitest";
import { credentials, stubEnv } from "../api-client/client.ts";
import { pageScopes } from "../contract/page.ts";
import { sampleArguments } from "../fields.ts";
import { jobOperations } from "../operations.ts";
import { inProcessClientForFile } from "../support/mcp.ts";
import { answer, stubForFile } from "../support/stub.ts";

const stubOf = stubForFile();

const connectionOf = inProcessClientForFile("v2-modern", () => stubEnv(stubOf()));

const tokenFor = (scope: string): string => `token-${Buffer.from(scope).toString("base64url")}`;
const scopeOf = (body: Buffer): string => new URLSearchParams(body.toString()).get("scope") ?? "";

const FORM = ["5/token-endpoint", "5/token-basic", "5/token-form", "5/bearer", "5/scope-covers-operation"];

for (const [scopes, rules] of pageScopes)
  test(`each operation with the scopes ${scopes} sends one token with exactly these scopes`, {
    tags: [...FORM, ...rules],
  }, async () => {
    const stub = stubOf();
    stub.respondToToken(({ body }) => answer(200, { access_token: tokenFor(scopeOf(body)) }));
    stub.respond(() => answer(404));
    const own = jobOperations.filter((row) => row.scopes.join(" ") === scopes);
    expect(own.length, "docs/contract.md, 5: no operation requests these scopes").toBeGreaterThan(0);
    for (const row of own) {
      const before = stub.requests.length;
      // With a version, cancel_job does not read the job first.
      const version = row.ifMatch && { resourceVersion: 3 };
      const { error } = await connectionOf().callTool(row.tool, { ...sampleArguments(row), ...version });
      expect(error).toMatchObject({ kind: "not_found" });
      const sent = stub.requests.slice(before).map(({ headers }) => [row.tool, headers.authorization]);
      expect(sent).toEqual([[row.tool, `Bearer ${tokenFor(scopes)}`]]);
    }
    const basic = `Basic ${Buffer.from(`${credentials.clientId}:${credentials.clientSecret}`).toString("base64")}`;
    const requested = stub.tokenRequests.filter(({ body }) => scopeOf(body) === scopes);
    expect(requested).toMatchObject([
      {
        ...{ method: "POST", target: "/sandbox/oauth/token" },
        headers: { authorization: basic, "content-type": "application/x-www-form-urlencoded" },
      },
    ]);
    expect([...new URLSearchParams(requested[0]?.body.toString())]).toEqual([
      ["grant_type", "client_credentials"],
      ["scope", scopes],
    ]);
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
