// Tests the start before the first message: an old Node is refused, and a private certificate authority is trusted.
import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { listPlaygroundStates } from "../../../src/contract/endpoints/playground.ts";
import { clientForTest, createCallContext, expectFailure, submitJob } from "../../api-client/client.ts";
import { statesResponse } from "../../contract/samples.ts";
import { connectionForTest } from "../../support/mcp.ts";
import { run } from "./child.ts";

/** Arguments of node that load a module first, which makes node report another version. */
const withNodeVersion = (version: string): readonly string[] => [
  "--import",
  `data:text/javascript,${encodeURIComponent(
    `Object.defineProperty(process,"versions",{value:{...process.versions,node:"${version}"}})`,
  )}`,
];

describe("Node", () => {
  test.each(["18.20.4", "20.18.3"])(
    "Node %s is refused with one line that names the required version",
    async (version) => {
      const { code, stdout, stderr } = await run(["--version"], { node: withNodeVersion(version) });
      expect(code).toBe(2);
      expect(stdout).toBe("");
      expect(stderr).toContain("20.19");
      expect(stderr).toContain(version);
      expect(stderr.trim().split("\n")).toHaveLength(1);
    },
  );

  test.each(["20.19.0", "100.0.0"])("Node %s is accepted", async (version) => {
    expect(await run(["--version"], { node: withNodeVersion(version) })).toMatchObject({ code: 0, stderr: "" });
  });
});

const folder = mkdtempSync(join(tmpdir(), "mic-mcp-tls-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

const OPENSSL = "openssl";

/** Creates a self-signed certificate for 127.0.0.1; returns false if openssl is missing. */
function makeCertificate(): boolean {
  const names = ["-subj", "/CN=stub", "-addext", "subjectAltName=IP:127.0.0.1"];
  const files = ["-keyout", join(folder, "key.pem"), "-out", join(folder, "cert.pem")];
  try {
    execFileSync(OPENSSL, ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...names, ...files], {
      stdio: "ignore",
    });
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(!makeCertificate())("an API with a certificate of a private authority (needs openssl)", () => {
  async function startTlsService(): Promise<string> {
    const [key, cert] = await Promise.all(["key.pem", "cert.pem"].map((name) => readFile(join(folder, name))));
    const server = createServer({ key, cert }, (_, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(statesResponse));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const address = server.address();
    return `https://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  }

  test("a private certificate is trusted through NODE_EXTRA_CA_CERTS", async () => {
    const connection = await connectionForTest("v2-modern", {
      env: { MIC_BASE_URL: await startTlsService(), NODE_EXTRA_CA_CERTS: join(folder, "cert.pem") },
    });
    expect(await connection.callTool("list_states")).toMatchObject({ isError: false });
  });

  test("a private certificate is refused otherwise, and an action has changed nothing", async () => {
    const { service: client } = clientForTest(await startTlsService());
    const facts = await expectFailure(client.call(listPlaygroundStates, {}, createCallContext(10_000)));
    expect(facts).toMatchObject({ kind: "upstream_unavailable", sideEffect: "none" });
    expect(facts.message).toMatch(/certificate|SELF_SIGNED/i);
    expect((await expectFailure(submitJob(client))).sideEffect).toBe("none");
  });
});
