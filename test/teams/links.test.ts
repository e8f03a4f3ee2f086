// Tests whether a download link still works after its caller has lost the membership under which it was created.
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod/v4";
import { createModernClient, get, resultOf } from "../mcp/http/raw-client.ts";
import type { Team } from "../support/deployment.ts";
import { type Fleet, startFleet } from "../support/fleet.ts";
import { describeWithDeployment } from "./services.ts";

const Linked = z.object({ structuredContent: z.object({ url: z.url() }) });

describeWithDeployment("a download link of a deployment", { instances: 2, teams: 5 }, (deployment) => {
  let withBearer: Fleet | undefined;
  beforeAll(async () => {
    withBearer = await startFleet({ instances: 1, env: { ...deployment().env, MIC_DOWNLOAD_LINKS: "bearer" } });
  }, 120_000);
  afterAll(() => withBearer?.stop());

  const requireTeam = (index: number): Team => {
    const team = deployment().teams[index];
    if (!team) throw new Error("there is such a team");
    return team;
  };
  /** Two origins for links: the balancer, where links need no token, and an instance where they need one. */
  const origins = () => ({ ticket: new URL(deployment().url).origin, bearer: withBearer?.instances[0]?.url ?? "" });
  /** The Host header that the balancer passes on. */
  const host = () => new URL(deployment().url).host;

  /** Creates a link to an asset and a link to a table for the holder of this token, on an instance with each setting. */
  async function createLinks(token: string, { client }: Team): Promise<readonly URL[]> {
    const results = await Promise.all(
      Object.values(origins()).flatMap((origin) => {
        const mcpClient = createModernClient(`${origin}/mcp`, {}, { host: host(), authorization: `Bearer ${token}` });
        const asset = mcpClient.call(1, "download_asset", { assetId: client.assetIds[0] });
        const rows = mcpClient.call(2, "save_table", { source: "list_jobs", arguments: {}, fileName: "jobs.csv" });
        return [resultOf(asset, 1), resultOf(rows, 2)];
      }),
    );
    return results.map((result) => new URL(Linked.parse(result).structuredContent.url));
  }

  /** The statuses of these links: without a token at the first origin, with this token at the second. */
  async function linkStatuses(
    links: readonly URL[],
    token: string,
  ): Promise<Readonly<Record<string, readonly number[]>>> {
    const fetchStatus = async (origin: string, { pathname }: URL, headers: Readonly<Record<string, string>>) =>
      (await get(new URL(pathname, origin).href, { host: host(), ...headers }).answer).status;
    const { ticket, bearer } = origins();
    const authorization = `Bearer ${token}`;
    return {
      ticket: await Promise.all(links.map((link) => fetchStatus(ticket, link, {}))),
      bearer: await Promise.all(links.map((link) => fetchStatus(bearer, link, { authorization }))),
    };
  }
  const expectedStatuses = (ticket: number, bearer = ticket) => ({
    ticket: [ticket, ticket, ticket, ticket],
    bearer: [bearer, bearer, bearer, bearer],
  });

  test("a link opens for a listed member, and is 404 after the member is removed from the list", async () => {
    const { runCommand, issueToken } = deployment();
    const [team, other] = [requireTeam(0), requireTeam(1)];
    await runCommand(["teams", "add", team.name, "--member", "ann"]);
    const annToken = await issueToken("ann", []);
    const links = await createLinks(annToken, team);
    expect(await linkStatuses(links, annToken)).toEqual(expectedStatuses(200));
    await runCommand(["teams", "remove", team.name, "--member", "ann"]);
    expect(await linkStatuses(links, annToken)).toEqual(expectedStatuses(404));
    // Membership in another team does not count. Membership in the same team does.
    await runCommand(["teams", "add", other.name, "--member", "ann"]);
    expect(await linkStatuses(links, annToken)).toEqual(expectedStatuses(404));
    await runCommand(["teams", "add", team.name, "--member", "ann"]);
    expect(await linkStatuses(links, annToken)).toEqual(expectedStatuses(200));
  });

  test("a link opens for a member by a group, and is 404 after the team's group has changed", async () => {
    const { runCommand, issueToken } = deployment();
    const team = requireTeam(2);
    const bobToken = await issueToken("bob", [team]);
    await runCommand(["teams", "add", team.name, "--member", "bob"]);
    const links = await createLinks(bobToken, team);
    await runCommand(["teams", "remove", team.name, "--member", "bob"]);
    expect(await linkStatuses(links, bobToken)).toEqual(expectedStatuses(200));
    await runCommand(["teams", "add", team.name, "--claim", "another-group"]);
    expect(await linkStatuses(links, bobToken)).toEqual(expectedStatuses(404));
  });

  test("a link with bearer is 404 for a token without the group; without bearer the groups of the creating call count", async () => {
    const { issueToken } = deployment();
    const team = requireTeam(3);
    const links = await createLinks(await issueToken("cid", [team]), team);
    expect(await linkStatuses(links, await issueToken("cid", []))).toEqual(expectedStatuses(200, 404));
    expect(await linkStatuses(links, await issueToken("cid", [team]))).toEqual(expectedStatuses(200));
  });

  test("a link is 404 after its team is removed", async () => {
    const { runCommand, issueToken } = deployment();
    const team = requireTeam(4);
    const danToken = await issueToken("dan", [team]);
    const links = await createLinks(danToken, team);
    expect(await linkStatuses(links, danToken)).toEqual(expectedStatuses(200));
    await runCommand(["teams", "remove", team.name]);
    expect(await linkStatuses(links, danToken)).toEqual(expectedStatuses(404));
  });
});
