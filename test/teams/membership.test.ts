// Who belongs to which team, and what a caller gets who belongs to none, to several, or to another one than he asks for.
import { expect, test, vi } from "vitest";
import type { Caller } from "../../src/teams/caller.ts";
import type { ComposedTeams } from "../../src/teams/compose.ts";
import { emulatorForTest } from "../support/emulator.ts";
import { type ClientFace, connectHttp } from "../support/mcp.ts";
import {
  addTeam,
  callerNamed,
  ISSUER,
  instanceForTest,
  keyLine,
  type Place,
  PUBLIC,
  teamsAt,
  urlOf,
} from "./deployment.ts";
import { describeWithPostgres } from "./postgres.ts";

describeWithPostgres("membership", (postgres) => {
  const placeOf = async (clients: number): Promise<Place> => ({
    url: await postgres().database(),
    keys: keyLine("one"),
    emulator: await emulatorForTest({ clients }),
  });

  async function clientOf(instance: ComposedTeams, caller: Caller, team?: string): Promise<ClientFace> {
    const runtime = await instance.runtimeOf(caller, team);
    if (!runtime) throw new Error("there is no such path");
    return await connectHttp("v2-modern", await urlOf(runtime));
  }

  /** The workspace that a caller's jobs are in; or what he is told instead. */
  async function workspaceOf(instance: ComposedTeams, caller: Caller, team?: string): Promise<string> {
    const runtime = await instance.runtimeOf(caller, team);
    if (!runtime) return "no such path";
    return await runtime.workspaceId().then(
      (workspace = "none") => workspace,
      (error: Error) => error.message,
    );
  }

  test("a value of the claim makes a member, and so does the list; each gets the team's workspace", async () => {
    const place = await placeOf(2);
    const [red, blue] = place.emulator.clients;
    await addTeam(place, { name: "red", client: 0, claim: "reds" });
    await addTeam(place, { name: "blue", client: 1, members: [{ issuer: ISSUER, subject: "bob" }] });
    const instance = await instanceForTest(place);
    expect(await workspaceOf(instance, callerNamed("ann", ["x", "reds"]))).toBe(red?.workspaceId);
    expect(await workspaceOf(instance, callerNamed("bob"))).toBe(blue?.workspaceId);
    // The same subject of another issuer is somebody else.
    const other = callerNamed("bob", [], "https://elsewhere.example.org");
    expect(await workspaceOf(instance, other)).toMatch("in no team");
    expect(await workspaceOf(instance, callerNamed("eve", ["red", "REDS", "reds "]))).toMatch("in no team");
  });

  test("without a team geography works, and all else says whom to ask, as whom", async () => {
    const place = await placeOf(1);
    await addTeam(place, { name: "red", client: 0, claim: "reds" });
    const client = await clientOf(await instanceForTest(place), callerNamed('n"obody'));
    expect((await client.callTool("list_states")).isError).toBe(false);
    const calls = ["list_jobs", "get_usage", "list_actions", "submit_job", "list_recipes"];
    for (const tool of calls) {
      const { error, text } = await client.callTool(tool, tool === "get_usage" ? { window: "DAY" } : {});
      expect(error, tool).toMatchObject({ kind: "forbidden", sideEffect: "none", retryable: false });
      expect(text, tool).toContain(
        String.raw`Ask the user to have the operator of this server add them to a team, as the subject "n\"obody" of ${ISSUER}.`,
      );
    }
    await expect(client.readResource("mic://actions")).rejects.toThrow("in no team");
    expect(await client.complete({ type: "ref/resource", uri: "mic://jobs/{jobId}" }, "jobId", "")).toEqual([]);
  });

  test("in several teams each has a path of its own, which is named; its members alone learn that there is one", async () => {
    const place = await placeOf(2);
    const [red, blue] = place.emulator.clients;
    await addTeam(place, { name: "red", client: 0, claim: "reds" });
    await addTeam(place, { name: "blue", client: 1, claim: "blues" });
    const instance = await instanceForTest(place);
    const both = callerNamed("ann", ["reds", "blues"]);
    const { text } = await (await clientOf(instance, both)).callTool("list_jobs", {});
    expect(text).toContain(`${PUBLIC}/mcp/blue, ${PUBLIC}/mcp/red`);
    expect(await workspaceOf(instance, both, "red")).toBe(red?.workspaceId);
    expect(await workspaceOf(instance, both, "blue")).toBe(blue?.workspaceId);
    const reds = callerNamed("bob", ["reds"]);
    const told = [await workspaceOf(instance, reds, "blue"), await workspaceOf(instance, reds, "green")];
    expect(told[0]?.replace("blue", "green")).toBe(told[1]);
    expect(await workspaceOf(instance, reds, "No Team")).toBe("no such path");
  });

  test("another workspace than the team's is forbidden: nothing is sent, and no action is written", async () => {
    const place = await placeOf(2);
    const [red, blue] = place.emulator.clients;
    await addTeam(place, { name: "red", client: 0, claim: "reds" });
    const client = await clientOf(await instanceForTest(place), callerNamed("ann", ["reds"]));
    const workspaceId = blue?.workspaceId ?? "";
    const calls = {
      list_jobs: {},
      list_recipes: {},
      get_usage: { window: "DAY" },
      get_capabilities: {},
      register_input: { inputKind: "M4_FILE", referenceId: red?.fileIds[0] },
      submit_job: {
        recipeVersionId: red?.recipeVersionIds[0],
        inputBindings: [{ port: "document", inputId: red?.inputIds[0] }],
        parameterValues: {},
      },
    };
    for (const [tool, args] of Object.entries(calls)) {
      const { error } = await client.callTool(tool, { ...args, workspaceId });
      expect(error, `${tool} ${error?.message}`).toMatchObject({ kind: "forbidden", sideEffect: "none" });
    }
    await expect(client.readResource(`mic://workspaces/${workspaceId}/jobs`)).rejects.toThrow("forbidden");
    const sent = await (await fetch(`${place.emulator.baseUrl}/__emulator/requests`)).text();
    expect(sent).not.toContain(workspaceId);
    expect((await client.callTool("list_actions")).structured).toMatchObject({ actions: [] });
    expect((await client.callTool("list_jobs", { workspaceId: red?.workspaceId })).isError).toBe(false);
  });

  test("a second team with the same client of the same service is refused; so is a second one of a name", async () => {
    const place = await placeOf(2);
    await addTeam(place, { name: "red", client: 0 });
    await expect(addTeam(place, { name: "crimson", client: 0 })).rejects.toThrow("the team red is there already");
    await expect(addTeam(place, { name: "red", client: 1 })).rejects.toThrow("the team red is there already");
  });

  test("the same caller is served by the same runtime until his team changes; one who left is in no team", async () => {
    const place = await placeOf(1);
    const bob = { issuer: ISSUER, subject: "bob" };
    await addTeam(place, { name: "red", client: 0, claim: "reds", members: [bob] });
    const teams = await teamsAt(place.url);
    const instance = await instanceForTest(place);
    const before = await instance.runtimeOf(callerNamed("bob"), undefined);
    expect(await instance.runtimeOf(callerNamed("bob"), undefined)).toBe(before);
    expect(await instance.runtimeOf(callerNamed("ann", ["reds"]), undefined)).not.toBe(before);
    await teams.removeMember("red", bob);
    await vi.waitFor(async () => expect(await workspaceOf(instance, callerNamed("bob"))).toMatch("in no team"));
    expect(await instance.runtimeOf(callerNamed("bob"), undefined)).not.toBe(before);
  });

  test("a team that is removed is over at once, for whoever is at work with its tokens, too", async () => {
    const place = await placeOf(1);
    await addTeam(place, { name: "red", client: 0, claim: "reds" });
    const instance = await instanceForTest(place);
    const client = await clientOf(instance, callerNamed("ann", ["reds"]));
    expect((await client.callTool("list_jobs")).isError).toBe(false);
    await (await teamsAt(place.url)).remove("red");
    await vi.waitFor(async () => {
      const { error } = await client.callTool("list_jobs");
      expect(error).toMatchObject({ kind: "forbidden", message: expect.stringContaining('no team "red" any more') });
    });
    expect(await workspaceOf(instance, callerNamed("ann", ["reds"]))).toMatch("in no team");
  });

  test("no more teams than are wanted are at hand; the others come back when they are called", async () => {
    const place = await placeOf(3);
    for (const [client, name] of ["red", "blue", "green"].entries())
      await addTeam(place, { name, client, claim: name });
    const instance = await instanceForTest(place, { teamsAtHand: 2 });
    const runtimes = await Promise.all(
      ["red", "blue", "green"].map((name) => instance.runtimeOf(callerNamed("ann", [name]), undefined)),
    );
    for (const [client, name] of ["red", "blue", "green"].entries())
      expect(await workspaceOf(instance, callerNamed("ann", [name]))).toBe(place.emulator.clients[client]?.workspaceId);
    expect(await instance.runtimeOf(callerNamed("ann", ["red"]), undefined)).not.toBe(runtimes[0]);
  });
});
