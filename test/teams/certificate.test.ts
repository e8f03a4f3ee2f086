// Tests that `mic-mcp doctor --teams` reports the certificate of the public URL if it ends soon.

import { expect, test } from "vitest";
import { checkCertificate } from "../../src/teams/commands/doctor.ts";
import { opensslMissing, serveHttpsForTest } from "../support/certificate.ts";
import { testUnless } from "../support/unless.ts";

testUnless(opensslMissing, "a certificate that ends within 14 days fails the check", async () => {
  for (const [days, ok] of [
    [13, false],
    [30, true],
  ] as const) {
    const { url } = await serveHttpsForTest(() => undefined, days);
    expect(await checkCertificate(url)).toMatchObject([{ name: "certificate", ok }]);
  }
});

test("a load balancer that does not exist yet passes the check", async () => {
  expect(await checkCertificate("https://127.0.0.1:9")).toMatchObject([
    { ok: true, detail: expect.stringContaining("was not checked") },
  ]);
});
