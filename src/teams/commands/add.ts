// `mic-mcp teams add`: a new team, once its credentials are proven; or members and a claim for one that is there.

import { prove } from "../../cli/prove.ts";
import { checkBaseUrl, checkCredential, checkWorkspaceId, UsageError } from "../../config.ts";
import { Failure } from "../../failure.ts";
import { quote } from "../../outside.ts";
import type { Member } from "../tenancy/teams.ts";
import { type Bench, givenSecret, membersOf, noSuchTeam, type TeamFlags } from "./bench.ts";

const taken = (name: string, by: string): Failure =>
  new Failure({
    kind: "conflict",
    message:
      name === by
        ? `There is a team ${quote(name)} already. Nothing was changed.`
        : `The team ${quote(by)} has this client of this service already, and one client is one team: whoever holds its credentials reads all that was made with them. Nothing was changed.`,
    retryable: false,
    sideEffect: "none",
    next:
      name === by ? "mic-mcp teams rotate replaces its secret." : `Add members to ${quote(by)}, or use another client.`,
  });

/** Throws UsageError. */
function claimOf({ claim }: TeamFlags): string | undefined {
  if (claim === "") throw new UsageError("--claim takes a value of MIC_AUTH_TEAM_CLAIM, such as a group's name.");
  return claim;
}

async function addMembers(name: string, members: readonly Member[], { teams, changed }: Bench): Promise<void> {
  for (const member of await teams.addMembers(name, members)) changed(name, "member added", member);
}

async function addNew(name: string, flags: TeamFlags, bench: Bench): Promise<void> {
  const { "base-url": url = bench.baseUrl, "client-id": client, "workspace-id": workspace } = flags;
  const missing = [
    ...(url === undefined ? ["--base-url (or MIC_BASE_URL)"] : []),
    ...(client === undefined ? ["--client-id"] : []),
    ...(workspace === undefined ? ["--workspace-id"] : []),
  ];
  if (url === undefined || client === undefined || workspace === undefined)
    throw new UsageError(`A new team takes ${missing.join(", ")}.`);
  const [baseUrl, clientId] = [checkBaseUrl(url), checkCredential("client id", client)];
  const workspaceId = checkWorkspaceId(workspace);
  const members = membersOf(flags, bench);
  const claim = claimOf(flags);
  const { text: clientSecret, place } = await givenSecret(name, flags, bench);
  if (!flags.unproven) await prove({ baseUrl, clientId, clientSecret, workspaceId });
  const by = await bench.teams.add({ name, baseUrl, clientId, workspaceId, claim, secret: place });
  if (by !== undefined) throw taken(name, by);
  bench.changed(name, "added");
  await addMembers(name, members, bench);
  const how =
    "file" in place ? `its secret stays in ${place.file}` : `its secret is sealed under the key ${bench.firstKey}`;
  const who = [
    ...(claim === undefined ? [] : [`whoever has the claim ${quote(claim)}`]),
    ...members.map(({ subject }) => quote(subject)),
  ];
  bench.say(
    `Added the team ${name}: ${clientId} at ${baseUrl}, workspace ${workspaceId}; ${how}. Members: ${who.length === 0 ? "none yet" : who.join(", ")}.`,
  );
}

async function addTo(name: string, flags: TeamFlags, bench: Bench): Promise<void> {
  const claim = claimOf(flags);
  const members = membersOf(flags, bench);
  if (!(await bench.teams.find(name))) throw noSuchTeam(name);
  if (claim !== undefined && (await bench.teams.setClaim(name, claim))) bench.changed(name, "claim set");
  await addMembers(name, members, bench);
  const done = [
    ...(claim === undefined ? [] : [`whoever has the claim ${quote(claim)} belongs to it`]),
    ...(members.length === 0 ? [] : [`members added: ${members.map(({ subject }) => quote(subject)).join(", ")}`]),
  ];
  bench.say(`The team ${name}: ${done.join("; ")}.`);
}

/** What belongs to credentials: with any of these a new team is meant. */
const OF_NEW = ["base-url", "client-id", "workspace-id", "secret-stdin", "secret-file"] as const;

export async function addTeam(name: string, flags: TeamFlags, bench: Bench): Promise<number> {
  const isNew = OF_NEW.some((flag) => flags[flag] !== undefined);
  const hasMore = flags.claim !== undefined || flags.member !== undefined;
  await (isNew || !hasMore ? addNew(name, flags, bench) : addTo(name, flags, bench));
  return 0;
}
