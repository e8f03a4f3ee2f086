// Whether a download link still opens after its caller has lost the membership by which it was made.
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
  /** Where links open without a token, through the balancer, and an instance where they take one. */
  const origins = () => ({ ticket: new URL(deployment().url).origin, bearer: withBearer?.instances[0]?.url ?? "" });
  /** The balancer keeps the name that clients call. */
  const host = () => new URL(deployment().url).host;

  /** Links to an asset and to rows that an instance with each setting makes for the holder of a token. */
  async function createLinks(token: string, { client }: Team): Promise<readonly URL[]> {
    const results = await Promise.all(
      Object.values(origins()).flatMap((origin) => {
        const mcpClient = createModernClient(`${origin}/mcp`, {}, { host: host(), authorization: `Bearer ${token}` });
        const asset = mcpClient.call(1, "download_asset", { assetId: client.assetIds[0] });
        const rows = mcpClient.call(2, "list_jobs", { saveAs: "jobs.csv" });
        return [resultOf(asset, 1), resultOf(rows, 2)];
      }),
    );
    return results.map((result) => new URL(Linked.parse(result).structuredContent.url));
  }

  /** The statuses of these links: without a token at the one place, with this token at the other. */
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

  test("opens for a listed member, and is 404 once they are removed from the list", async () => {
    const { runCommand, issueToken } = deployment();
    const [team, other] = [requireTeam(0), requireTeam(1)];
    await runCommand(["teams", "add", team.name, "--member", "ann"]);
    const annToken = await issueToken("ann", []);
    const links = await createLinks(annToken, team);
    expect(await linkStatuses(links, annToken)).toEqual(expectedStatuses(200));
    await runCommand(["teams", "remove", team.name, "--member", "ann"]);
    await expect.poll(() => linkStatuses(links, annToken)).toEqual(expectedStatuses(404));
    // Membership in another team does not count, membership in the same team does.
    await runCommand(["teams", "add", other.name, "--member", "ann"]);
    await expect.poll(() => linkStatuses(links, annToken)).toEqual(expectedStatuses(404));
    await runCommand(["teams", "add", team.name, "--member", "ann"]);
    await expect.poll(() => linkStatuses(links, annToken)).toEqual(expectedStatuses(200));
  });

  test("opens for a member by a group, and is 404 once the team has another group", async () => {
    const { runCommand, issueToken } = deployment();
    const team = requireTeam(2);
    const bobToken = await issueToken("bob", [team]);
    await runCommand(["teams", "add", team.name, "--member", "bob"]);
    const links = await createLinks(bobToken, team);
    await runCommand(["teams", "remove", team.name, "--member", "bob"]);
    expect(await linkStatuses(links, bobToken)).toEqual(expectedStatuses(200));
    await runCommand(["teams", "add", team.name, "--claim", "another-group"]);
    await expect.poll(() => linkStatuses(links, bobToken)).toEqual(expectedStatuses(404));
  });

  test("is 404 with bearer for a token that lacks the group; without bearer, the groups are those of the call that made it", async () => {
    const { issueToken } = deployment();
    const team = requireTeam(3);
    const links = await createLinks(await issueToken("cid", [team]), team);
    expect(await linkStatuses(links, await issueToken("cid", []))).toEqual(expectedStatuses(200, 404));
    expect(await linkStatuses(links, await issueToken("cid", [team]))).toEqual(expectedStatuses(200));
  });

  test("is 404 once the team is removed", async () => {
    const { runCommand, issueToken } = deployment();
    const team = requireTeam(4);
    const danToken = await issueToken("dan", [team]);
    const links = await createLinks(danToken, team);
    expect(await linkStatuses(links, danToken)).toEqual(expectedStatuses(200));
    await runCommand(["teams", "remove", team.name]);
    await expect.poll(() => linkStatuses(links, danToken)).toEqual(expectedStatuses(404));
  });
});
