// Tests profiles: several logins in one keychain, which MIC_PROFILE or --profile selects.
import { expect } from "vitest";
import { enveloped, job } from "../../contract/samples.ts";
import { runInProcess as run } from "../../support/command.ts";
import { describeWithKeychain } from "../../support/secret-service.ts";
import { answer } from "../../support/stub.ts";
import { expectLogin, nothing, readStatus, test } from "./session.ts";

describeWithKeychain("profiles", () => {
  test("each profile has its own login and tokens, and a logout keeps the others", async ({ session, stub }) => {
    const { baseUrl } = stub;
    await expectLogin(session, { baseUrl, clientId: "personal" });
    await expectLogin(session, { baseUrl, clientId: "work", profile: "work" });
    stub.respondToToken(() => answer(200, { access_token: "a-token-0123456789", expires_in: 3600 }));
    stub.respond(() => answer(200, enveloped(job)));
    for (const profile of ["", "work"]) {
      const env = { ...session.env, MIC_PROFILE: profile };
      expect(await run(["call", "get_job", job.id], { env })).toMatchObject({ code: 0, stderr: "" });
    }
    const work = { MIC_PROFILE: "work" };
    expect(await readStatus(session)).toMatchObject({
      clientId: { value: "personal" },
      profile: "default",
      profiles: ["default", "work"],
    });
    expect(await readStatus(session, work)).toMatchObject({ clientId: { value: "work" }, profile: "work" });

    const { code, stdout } = await run(["logout"], { env: session.env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("credentials, tokens: 1") });
    expect(await readStatus(session)).toMatchObject(nothing);
    const left = await readStatus(session, work);
    expect({ clientId: left.clientId.value, tokens: left.tokens.length }).toEqual({ clientId: "work", tokens: 1 });
    await run(["logout", "--profile", "work"], { env: session.env });
    expect(await readStatus(session, work)).toMatchObject({ ...nothing, profiles: [] });
  }, 120_000);

  test("a login replaces only the login of its profile", async ({ session, stub }) => {
    const { baseUrl } = stub;
    await expectLogin(session, { baseUrl, clientId: "one", profile: "work" });
    await expectLogin(session, { baseUrl, clientId: "personal" });
    await expectLogin(session, { baseUrl, clientId: "two", profile: "work" });
    expect((await readStatus(session, { MIC_PROFILE: "work" })).clientId.value).toBe("two");
    expect((await readStatus(session)).clientId.value).toBe("personal");
  });

  test("a profile without a login is reported with the command that creates it", async ({ session, stub }) => {
    await expectLogin(session, { baseUrl: stub.baseUrl });
    const { code, stderr } = await run(["call", "get_job", job.id], { env: { ...session.env, MIC_PROFILE: "work" } });
    expect(code).toBe(4);
    expect(stderr).toMatch(/not_configured.*\(profile work\)[\s\S]*Run mic-mcp login --profile work/);
    expect(stub.requests).toHaveLength(0);
  });
});
