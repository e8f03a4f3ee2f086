// Tests that a server that cannot start tells its client the reason, in each protocol revision, and exits with 2.
import { expect, test } from "vitest";
import { start } from "../mcp/stdio/child.ts";
import { runInProcess as run } from "../support/command.ts";
import { clientRevisions, connect } from "../support/mcp.ts";

const ERROR_MESSAGE = "mic-mcp could not start: MIC_READ_ONLY must be 1 or 0.";
const invalidEnv = { MIC_READ_ONLY: "yes" };

const request = (id: string | number, method: string) => ({ jsonrpc: "2.0", id, method, params: {} });

test.each(["initialize", "server/discover"])(
  "a server with an invalid setting answers %s with the error, then exits",
  async (method) => {
    const program = start(["serve"], { env: invalidEnv });
    program.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: {} });
    program.send(request("first", method));
    const error = { code: -32603, message: ERROR_MESSAGE };
    expect(await program.next()).toEqual({ jsonrpc: "2.0", id: "first", error });
    // A client may then send the first request of the other revision.
    program.send(request(2, "initialize"));
    expect(await program.next()).toMatchObject({ id: 2, error: { message: ERROR_MESSAGE } });
    expect(await program.exit).toEqual({ code: 2, signal: null });
    expect(program.stderr()).toContain("MIC_READ_ONLY must be 1 or 0.");
  },
);

test.each(clientRevisions)("client %s reports the error of an invalid setting", async (revision) => {
  await expect(connect(revision, { env: invalidEnv })).rejects.toThrow(/MIC_READ_ONLY must be 1/);
});

test.each([
  [["serve", "--frobnicate"], {}, "no flag --frobnicate"],
  [[], { MIC_CLIENT_ID: "alone" }, "set both or neither"],
])("a client gets the error for the arguments %j and the variables %j", async (args, env, expectedOutput) => {
  const program = start(args, { env });
  program.send(request(1, "initialize"));
  expect(await program.next()).toMatchObject({ id: 1, error: { message: expect.stringContaining(expectedOutput) } });
  expect(await program.exit).toMatchObject({ code: 2 });
});

test("a server with an invalid setting prints nothing on stdout without a request, and never a secret", async () => {
  for (const input of ["", "no JSON\n[1]\n{}\n"])
    expect(await run(["serve"], { env: invalidEnv, input })).toMatchObject({ code: 2, stdout: "" });
  const env = { MIC_CLIENT_SECRET: "hunter2-hunter2" };
  const { stdout, stderr } = await run(["serve"], { env, input: `${JSON.stringify(request(1, "initialize"))}\n` });
  expect(stdout).toContain("set both or neither");
  expect(stdout + stderr).not.toContain("hunter2");
});

test("an unknown command exits without waiting for a client", async () => {
  const program = start(["frobnicate"]);
  expect(await program.exit).toMatchObject({ code: 2 });
});
