// A server that cannot start says why to its client, in either protocol era, and ends with 2 (docs/interface.md, "Configuration").
import { describe, expect, test } from "vitest";
import { run, start } from "../mcp/stdio/child.ts";
import { type ClientRevision, clientRevisions, connect } from "../support/mcp.ts";

const ERROR_MESSAGE = "mic-mcp is not started: MIC_READ_ONLY takes 1 (or 0).";
const invalidEnv = { MIC_READ_ONLY: "yes" };

const request = (id: string | number, method: string) => ({ jsonrpc: "2.0", id, method, params: {} });

describe("a server with a wrong setting", () => {
  test.each(["initialize", "server/discover"])("answers %s with its sentence, then ends", async (method) => {
    const program = start(["serve"], { env: invalidEnv });
    program.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: {} });
    program.send(request("first", method));
    expect(await program.next()).toEqual({
      jsonrpc: "2.0",
      id: "first",
      error: { code: -32603, message: ERROR_MESSAGE },
    });
    // A client may go on to ask what the other era begins with.
    program.send(request(2, "initialize"));
    expect(await program.next()).toMatchObject({ id: 2, error: { message: ERROR_MESSAGE } });
    expect(await program.exit).toEqual({ code: 2, signal: null });
    expect(program.stderr()).toContain("MIC_READ_ONLY takes 1 (or 0).");
  });

  test.each(clientRevisions)("is told as that by the client %s", async (revision: ClientRevision) => {
    await expect(connect(revision, { env: invalidEnv })).rejects.toThrow(/MIC_READ_ONLY takes 1/);
  });

  test.each([
    [["serve", "--frobnicate"], {}, "no flag --frobnicate"],
    [["serve", "--port", "1"], {}, "belong to serve --http"],
    [[], { MIC_CLIENT_ID: "alone" }, "belong together"],
    [[], { MIC_BASE_URL: "service.example" }, "MIC_BASE_URL takes"],
  ])("says so for %j, %j", async (args, env, expectedOutput) => {
    const program = start(args, { env });
    program.send(request(1, "initialize"));
    expect(await program.next()).toMatchObject({ id: 1, error: { message: expect.stringContaining(expectedOutput) } });
    expect(await program.exit).toMatchObject({ code: 2 });
  });

  test("prints nothing on stdout where nobody asks, and no secret ever", async () => {
    expect(await run(["serve"], { env: invalidEnv })).toMatchObject({ code: 2, stdout: "" });
    expect(await run(["serve"], { env: invalidEnv, input: "no JSON\n[1]\n{}\n" })).toMatchObject({
      code: 2,
      stdout: "",
    });
    const env = { MIC_CLIENT_SECRET: "hunter2-hunter2" };
    const { stdout, stderr } = await run(["serve"], { env, input: `${JSON.stringify(request(1, "initialize"))}\n` });
    expect(stdout).toContain("belong together");
    expect(stdout + stderr).not.toContain("hunter2");
  });

  test("a command that is no server waits for nobody", async () => {
    const program = start(["frobnicate"]);
    expect(await program.exit).toMatchObject({ code: 2 });
    expect(program.stdout()).toBe("");
  });
});
