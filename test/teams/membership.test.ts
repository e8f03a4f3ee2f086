// Tests team membership, and what a caller gets without a team, with several teams, or at the path of another team.
import { expect, test } from "vitest";
import type { Caller } from "../../src/teams/caller.ts";
import { emulatorForTest } from "../support/emulator.ts";
import {
  BLUE,
  connectCaller,
  createCaller,
  environmentForTest,
  ISSUER,
  instanceForTest,
  openTeams,
  PUBLIC,
  RED,
  type TestTeam,
} from "./deployment.ts";
import { describeWithPostgres } from "./services.ts";

const [ANN, BOB] = [createCaller("ann", ["reds"]), createCaller("bob")];

describeWithPostgres("membership", (postgres) => {
  /** Starts an instance with these teams. `workspaces` are those of the emulator's clients, in the same order. */
  async function setUp(clients: number, teams: readonly TestTeam[], more: Parameters<typeof instanceForTest>[1] = {}) {
    const emulator = await emulatorForTest({ clients });
    const place = await environmentForTest(postgres(), emulator, teams);
    const instance = await instanceForTest(place, more);
    return {
      instance,
      emulator,
      workspaces: emulator.clients.map(({ workspaceId }) => workspaceId),
      openTable: () => openTeams(place.url),
      connect: (caller: Caller) => connectCaller(instance, caller),
      async resolveWorkspace(caller: Caller, team?: string): Promise<string> {
        const runtime = await instance.runtimeOf(caller, team);
        if (!runtime) return "no such path";
        return await runtime.workspaceId().then(
          (workspace = "none") => workspace,
          (error: Error) => error.message,
        );
      },
    };
  }

  test("a value of the claim or an entry in the member list gives membership, and each member gets the team's workspace", async () => {
    const blue = { name: "blue", client: 1, members: [{ issuer: ISSUER, subject: "bob" }] };
    const { resolveWorkspace, workspaces } = await setUp(2, [RED, blue]);
    expect(await resolveWorkspace(createCaller("ann", ["x", "reds"]))).toBe(workspaces[0]);
    expect(await resolveWorkspace(BOB)).toBe(workspaces[1]);
    // The same subject from another issuer is another caller.
    expect(await resolveWorkspace(createCaller("bob", [], "https://elsewhere.example.org"))).toMatch("not a member of");
    expect(await resolveWorkspace(createCaller("eve", ["red", "REDS", "reds "]))).toMatch("not a member of");
  });

  test("a caller without a team can use geography, and every other call refers them to the operator and names their subject", async () => {
    const { connect } = await setUp(1, [RED]);
    const client = await connect(createCaller('n"obody'));
    expect((await client.callTool("list_states")).isError).toBe(false);
    for (const tool of ["list_jobs", "list_actions", "submit_job"]) {
      const { error, text } = await client.callTool(tool);
      expect(error, tool).toMatchObject({ kind: "forbidden", sideEffect: "none", retryable: false });
      expect(text, tool).toContain(
        String.raw`Ask the user to have the operator of this server add them to a team, as subject "n\"obody" with issuer ${ISSUER}.`,
      );
    }
    await expect(client.readResource("mic://actions")).rejects.toThrow("not a member of");
    expect(await client.complete({ type: "ref/resource", uri: "mic://jobs/{jobId}" }, "jobId", "")).toEqual([]);
  });

  test("the message to a caller in several teams names the teams' paths, and no message shows a team to other callers", async () => {
    const { connect, resolveWorkspace, workspaces } = await setUp(2, [RED, BLUE]);
    const memberOfBoth = createCaller("ann", ["reds", "blues"]);
    const { text } = await (await connect(memberOfBoth)).callTool("list_jobs", {});
    expect(text).toContain(`${PUBLIC}/mcp/blue, ${PUBLIC}/mcp/red`);
    expect([await resolveWorkspace(memberOfBoth, "red"), await resolveWorkspace(memberOfBoth, "blue")]).toEqual(
      workspaces,
    );
    const [existing, missing] = [await resolveWorkspace(ANN, "blue"), await resolveWorkspace(ANN, "green")];
    expect(existing.replace("blue", "green")).toBe(missing);
    expect(await resolveWorkspace(ANN, "No Team")).toBe("no such path");
  });

  test("a call for another workspace than the team's is forbidden, sends nothing and records no action", async () => {
    const { connect, emulator, workspaces } = await setUp(2, [RED]);
    const client = await connect(ANN);
    const [own, workspaceId = ""] = workspaces;
    const input = { inputKind: "M4_FILE", referenceId: emulator.clients[0]?.fileIds[0] };
    for (const [tool, args] of Object.entries({ list_jobs: {}, get_capabilities: {}, register_input: input })) {
      const { error } = await client.callTool(tool, { ...args, workspaceId });
      expect(error, tool).toMatchObject({ kind: "forbidden", sideEffect: "none" });
    }
    await expect(client.readResource(`mic://workspaces/${workspaceId}/jobs`)).rejects.toThrow("forbidden");
    expect(await (await fetch(`${emulator.baseUrl}/__emulator/requests`)).text()).not.toContain(workspaceId);
    expect((await client.callTool("list_actions")).structured).toMatchObject({ actions: [] });
    expect((await client.callTool("list_jobs", { workspaceId: own })).isError).toBe(false);
  });

  test("access to a removed team ends within 5 s, even for clients that are in use", async () => {
    const { connect, resolveWorkspace, openTable } = await setUp(1, [RED]);
    const client = await connect(ANN);
    expect((await client.callTool("list_jobs")).isError).toBe(false);
    await (await openTable()).remove("red");
    await expect
      .poll(async () => (await client.callTool("list_jobs")).error)
      .toMatchObject({ kind: "forbidden", message: expect.stringContaining('Team "red" was removed') });
    expect(await resolveWorkspace(ANN)).toMatch("not a member of");
  });

  test("a download link opens while its caller is a member of its team, by the list or by the claim", async () => {
    const bob = { issuer: ISSUER, subject: "bob" };
    const { instance, openTable } = await setUp(2, [{ ...RED, members: [bob] }, BLUE]);
    const teams = await openTable();
    const expectOpen = async (isOpen: boolean, caller: Caller) =>
      expect((await instance.runtimeForLink(caller, "red")) !== undefined).toBe(isOpen);
    await expectOpen(true, BOB);
    await expectOpen(true, ANN);
    await expectOpen(false, createCaller("ann"));
    await teams.removeMember("red", bob);
    await expectOpen(false, BOB);
    // Membership in another team does not count.
    await teams.addMembers("blue", [bob]);
    await teams.setClaim("red", "another-group");
    await expectOpen(false, ANN);
    await expectOpen(false, BOB);
    await teams.addMembers("red", [bob]);
    await expectOpen(true, BOB);
    await teams.remove("red");
    await expectOpen(false, BOB);
  });
});
