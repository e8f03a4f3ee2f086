// Tests answers that end early, point elsewhere, come from something in between, or follow an interim answer.
import { expect } from "vitest";
import { basicHeader } from "../../src/credentials/oauth.ts";
import { enveloped, job } from "../contract/samples.ts";
import { test } from "../support/fixtures.ts";
import { inProcessClientForTest } from "../support/mcp.ts";
import { answer, type Step, type Stub, sendRawBytes } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { credentials, expectFailure, readJob, stubEnv, submitJob } from "./client.ts";

const UNSIZED = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n";

/** Sends a body that ends with its connection, and resets the connection. */
const resetInBody: Step = {
  readsBody: true,
  answer: ({ socket }) => void socket?.write(`${UNSIZED}abc`, () => setTimeout(() => socket.resetAndDestroy(), 50)),
};

async function download(stub: Stub, args: Readonly<Record<string, unknown>> = {}) {
  const env = { ...stubEnv(stub), MIC_DOWNLOAD_DIR: await folderForTest() };
  const { callTool } = await inProcessClientForTest("v2-modern", env);
  return await callTool("download_asset", { assetId: "asset-1", ...args });
}

test("a download without a stated size is interrupted by a reset of the connection, and starts again", async ({
  stub,
}) => {
  stub.expect(resetInBody, answer(200, "complete"));
  expect((await download(stub)).structured).toMatchObject({ bytes: 8 });
});

test("a download without a stated size says that completeness is not proven", async ({ stub }) => {
  stub.expect(sendRawBytes(`${UNSIZED}abc`));
  const { text } = await download(stub);
  expect(text).toMatch(/^The API stated no size, so it is not proven that the file is complete\. Saved asset-1 /);
});

const html = answer(200, "<html>Sign in</html>", { "content-type": "Text/HTML; charset=utf-8" });

test.for([
  ["districts.csv", /^The API sent an HTML page, which is probably not this file\. Ask the user to check MIC_BASE_URL/],
  ["page.HTML", /^Saved page\.HTML /],
] as const)(
  "an HTML page is reported first if the file is saved as %s only if that is no HTML name",
  async ([fileName, start], { stub }) => {
    stub.expect(html);
    expect((await download(stub, { fileName })).text).toMatch(start);
  },
);

const SECRET_URL = "https://user:pw@files.example:8443/a?token=secret";

test("a download that is redirected names the host, and says that downloads follow no redirects", async ({ stub }) => {
  stub.expect(answer(302, undefined, { location: SECRET_URL }));
  const { text } = await download(stub);
  expect(text).toContain("HTTP status 302 is a redirect to https://files.example:8443, and downloads follow none");
  expect(text).not.toMatch(/token=|pw@/);
});

const redirects = [301, 302, 303, 307, 308].flatMap((status) =>
  (
    [
      [SECRET_URL, "a redirect to https://files.example:8443"],
      ["//files.example/x", "a redirect to http://files.example"],
      ["/elsewhere", "a redirect to another path of the same host"],
      ["javascript:x", "a redirect"],
      [undefined, "a redirect"],
    ] as const
  ).map(([location, described]) => [status, location, described] as const),
);

test.for(redirects)(
  "a redirect with HTTP %i to %s is described, and only 307 and 308 prove that an action was not executed",
  async ([status, location, described], { stub, service }) => {
    const step = answer(status, undefined, location === undefined ? {} : { location });
    stub.expect(step, step);
    const { message } = await expectFailure(readJob(service));
    expect(message).toContain(`HTTP status ${status} is ${described}, and requests follow none`);
    expect(await expectFailure(submitJob(service))).toMatchObject({
      message,
      sideEffect: status === 307 || status === 308 ? "none" : "unknown",
    });
  },
);

test("a token endpoint that redirects names the host", async ({ stub, service }) => {
  stub.respondToToken(() => answer(301, undefined, { location: SECRET_URL }));
  const { message } = await expectFailure(submitJob(service));
  expect(message).toContain("HTTP 301, a redirect to https://files.example:8443");
  expect(message).not.toContain("token=");
});

const accepted = JSON.stringify(enveloped(job));
const afterInterim = (interim: string): Step =>
  sendRawBytes(
    `HTTP/1.1 ${interim}\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: ${Buffer.byteLength(accepted)}\r\n\r\n${accepted}`,
  );

test.for(["102 Processing", "103 Early Hints"])(
  "the interim answer %s is skipped",
  async (interim, { stub, service }) => {
    stub.expect(afterInterim(interim));
    expect((await submitJob(service)).attempts).toBe(1);
  },
);

test.for([
  ["100 Continue", "100 Continue, which was not requested"],
  ["101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade", "a change of protocols, which was not requested"],
] as const)("the interim answer %s is named in the failure", async ([interim, reason], { stub, service }) => {
  stub.respond(() => afterInterim(interim));
  const facts = await expectFailure(submitJob(service));
  expect(facts).toMatchObject({ kind: "outcome_unknown", sideEffect: "unknown" });
  expect(facts.message).toContain(reason);
});

test("no word of a secret with blanks is shown where a text is cut", async ({ stub }) => {
  const clientSecret = "correct  horse battery staple 99";
  const { callTool } = await inProcessClientForTest("v2-modern", { ...stubEnv(stub), MIC_CLIENT_SECRET: clientSecret });
  for (let padding = 265; padding <= 300; padding++) {
    stub.expect(answer(422, { title: `${"x ".repeat(padding).slice(0, padding)} ${clientSecret}` }));
    expect((await callTool("get_job", { jobId: "job-1" })).raw).not.toMatch(/correct|horse|battery|staple/);
  }
  expect(stub.tokenRequests[0]?.headers["authorization"]).toBe(basicHeader({ ...credentials, clientSecret }));
});
