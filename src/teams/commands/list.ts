// `mic-mcp teams list`: the teams, who belongs to them, and where their secrets are; never a secret.

import { aligned, isTerminal } from "../../cli/terminal.ts";
import { json as inJson } from "../../outside.ts";
import { operatorTable } from "../../table.ts";
import { keyOf } from "../keys/team-secrets.ts";
import type { ListedTeam } from "../tenancy/teams.ts";
import type { Bench, TeamFlags } from "./bench.ts";

const shown = ({ name, baseUrl, clientId, workspaceId, claim, members, secret, changedAt }: ListedTeam) => ({
  name,
  baseUrl,
  clientId,
  workspaceId,
  ...(claim !== undefined && { claim }),
  members,
  secret: "file" in secret ? { file: secret.file } : { sealedUnder: keyOf(secret.sealed) ?? "an unknown key" },
  changedAt: new Date(changedAt).toISOString(),
});

const COLUMNS = ["team", "workspace", "client", "service", "claim", "members", "secret"];

export async function listTeams({ json }: TeamFlags, { teams, say }: Bench): Promise<number> {
  const found = (await teams.list()).map(shown);
  if (json) {
    say(inJson({ teams: found }));
    return 0;
  }
  if (found.length === 0) {
    say("There is no team yet: mic-mcp teams add makes one.");
    return 0;
  }
  const rows = found.map(({ name, workspaceId, clientId, baseUrl, claim = "", members, secret }) => [
    name,
    workspaceId,
    clientId,
    baseUrl,
    claim,
    members.map(({ subject }) => subject).join(" "),
    "file" in secret ? secret.file : `sealed under ${secret.sealedUnder}`,
  ]);
  const lines = operatorTable(COLUMNS, rows);
  say(isTerminal(process.stdout) ? aligned(lines) : lines);
  return 0;
}
