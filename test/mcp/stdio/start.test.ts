// Tests the start before the first message: an old Node is refused, and a private certificate authority is trusted.

import { expect, test } from "vitest";
import { listPlaygroundStates } from "../../../src/contract/endpoints/playground.ts";
import { clientForTest, createCallContext, expectFailure, submitJob } from "../../api-client/client.ts";
import { statesResponse } from "../../contract/samples.ts";
import { opensslMissing, serveHttpsForTest } from "../../support/certificate.ts";
import { connectionForTest } from "../../support/mcp.ts";
import { describeUnless } from "../../support/unless.ts";
import { run } from "./child.ts";

/** Arguments of node that load a module first, which makes node report another version. */
const withNodeVersion = (version: string): readonly string[] => [
  "--import",
  `data:text/javascript,${encodeURIComponent(
    `Object.defineProperty(process,"versions",{value:{...process.versions,node:"${version}"}})`,
  )}`,
];

test.each(["18.20.4", "20.18.3"])(
  "Node %s is refused with one line that names the required version",
  async (version) => {
    const { code, stdout, stderr } = await run(["--version"], { node: withNodeVersion(version) });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    for (const text of ["20.19", version]) expect(stderr).toContain(text);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  },
);

test.each(["20.19.0", "100.0.0"])("Node %s is accepted", async (version) => {
  expect(await run(["--version"], { node: withNodeVersion(version) })).toMatchObject({ code: 0, stderr: "" });
});

describeUnless(opensslMissing, "an API with a certificate of a private authority", () => {
  const startTlsService = () =>
    serveHttpsForTest((_, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(statesResponse));
    });

  test("a private certificate is trusted through NODE_EXTRA_CA_CERTS", async () => {
    const { url, cert } = await startTlsService();
    const env = { MIC_BASE_URL: url, NODE_EXTRA_CA_CERTS: cert };
    const connection = await connectionForTest("v2-modern", { env });
    expect(await connection.callTool("list_states")).toMatchObject({ isError: false });
  });

  test("a private certificate is refused without NODE_EXTRA_CA_CERTS, and an action changes nothing", async () => {
    const { service: client } = clientForTest((await startTlsService()).url);
    const facts = await expectFailure(client.call(listPlaygroundStates, {}, createCallContext(10_000)));
    expect(facts).toMatchObject({ kind: "upstream_unavailable", sideEffect: "none" });
    expect(facts.message).toMatch(/certificate|SELF_SIGNED/i);
    expect((await expectFailure(submitJob(client))).sideEffect).toBe("none");
  });
});
