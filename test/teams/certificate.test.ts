// Tests that `mic-mcp doctor --teams` reports the certificate of the public URL if it ends soon.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkCertificate } from "../../src/teams/commands/doctor.ts";
import { serveForTest } from "../support/http-server.ts";
import { missingProgram } from "../support/process.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { testUnless } from "../support/unless.ts";

testUnless(missingProgram("openssl"), "a certificate that ends within 14 days fails the check", async () => {
  for (const [days, ok] of [
    ["13", false],
    ["30", true],
  ] as const) {
    const folder = await folderForTest();
    const [key, cert] = [join(folder, "key"), join(folder, "cert")];
    const args = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", days, "-subj", "/CN=localhost"];
    execFileSync("openssl", [...args, "-keyout", key, "-out", cert], { stdio: "ignore" });
    const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) });
    const { port } = new URL(await serveForTest(server));
    expect(await checkCertificate(`https://127.0.0.1:${port}`)).toMatchObject([{ name: "certificate", ok }]);
  }
});

test("a load balancer that does not exist yet passes the check", async () => {
  expect(await checkCertificate("https://127.0.0.1:9")).toMatchObject([
    { ok: true, detail: expect.stringContaining("was not checked") },
  ]);
});
