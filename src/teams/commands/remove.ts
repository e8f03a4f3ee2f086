// `mic-mcp teams remove`: takes members out, or the whole team.
import { quote } from "../../outside.ts";
import { type Bench, membersOf, noSuchTeam, type TeamFlags } from "./bench.ts";

export async function removeTeam(name: string, flags: TeamFlags, bench: Bench): Promise<number> {
  const { teams, changed, say } = bench;
  const members = membersOf(flags, bench);
  if (members.length === 0) {
    if (!(await teams.remove(name))) throw noSuchTeam(name);
    changed(name, "removed");
    say(`Removed the team ${name}, its members and its secret. What it did stays in the journal.`);
    return 0;
  }
  if (!(await teams.find(name))) throw noSuchTeam(name);
  for (const member of members) {
    const wasListed = await teams.removeMember(name, member);
    if (wasListed) changed(name, "member removed", member);
    const more = wasListed ? "" : " was not listed: a claim may still make him a member, or he is another provider's";
    say(wasListed ? `Took ${quote(member.subject)} out of the team ${name}.` : `${quote(member.subject)}${more}.`);
  }
  return 0;
}
