// `mic-mcp teams check`: opens every secret and gets a token with it.

import { forUser } from "../../cli/command-line/for-user.ts";
import { prove } from "../../cli/prove.ts";
import { Failure, reasonOf } from "../../failure.ts";
import { json as inJson } from "../../outside.ts";
import type { ListedTeam } from "../tenancy/teams.ts";
import { type Bench, noSuchTeam, type TeamFlags } from "./bench.ts";

export interface CheckedTeam {
  readonly team: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly fix?: string;
}

/** What is well with a team, or what is not and what mends it. Throws nothing that its credentials can bring about. */
export async function checkTeam(
  team: ListedTeam,
  { secrets }: Pick<Bench, "secrets">,
  tries: boolean,
): Promise<CheckedTeam> {
  const { name, baseUrl, clientId, workspaceId, claim, members } = team;
  try {
    const clientSecret = await secrets.of(team);
    if (tries) await prove({ baseUrl, clientId, clientSecret, workspaceId });
  } catch (error) {
    if (!(error instanceof Failure)) return { team: name, ok: false, detail: reasonOf(error) };
    const { message, next } = forUser(error.facts);
    return {
      team: name,
      ok: false,
      detail: message.replace(" Nothing was stored.", ""),
      ...(next !== undefined && { fix: next }),
    };
  }
  const opened = tries ? "its secret opens, and the service gives it a token" : "its secret opens";
  if (claim !== undefined || members.length > 0) return { team: name, ok: true, detail: opened };
  const fix = `mic-mcp teams add ${name} --claim VALUE, or --member SUBJECT`;
  return { team: name, ok: false, detail: `${opened}, but nobody belongs to it`, fix };
}

export async function checkTeams(
  name: string | undefined,
  { unproven = false, json }: TeamFlags,
  bench: Bench,
): Promise<number> {
  const all = await bench.teams.list();
  const wanted = name === undefined ? all : all.filter((team) => team.name === name);
  if (name !== undefined && wanted.length === 0) throw noSuchTeam(name);
  const checks = await Promise.all(wanted.map((team) => checkTeam(team, bench, !unproven)));
  const ok = checks.every((check) => check.ok);
  if (json) bench.say(inJson({ ok, teams: checks }));
  else if (checks.length === 0) bench.say("There is no team yet: mic-mcp teams add makes one.");
  else
    for (const { team, ok: isWell, detail, fix } of checks)
      bench.say(`${isWell ? "ok   " : "WRONG"} ${team}: ${detail}${fix === undefined ? "" : `\n      -> ${fix}`}`);
  return ok ? 0 : 1;
}
