// `mic-mcp teams rotate`: another secret for a team, once it is proven. Instances use it from their next token on.
import { prove } from "../../cli/prove.ts";
import { type Bench, givenSecret, noSuchTeam, type TeamFlags } from "./bench.ts";

export async function rotateTeam(name: string, flags: TeamFlags, bench: Bench): Promise<number> {
  const { teams, changed, say, firstKey } = bench;
  const team = await teams.find(name);
  if (!team) throw noSuchTeam(name);
  const { text: clientSecret, place } = await givenSecret(name, flags, bench);
  const { baseUrl, clientId, workspaceId } = team;
  if (!flags.unproven) await prove({ baseUrl, clientId, clientSecret, workspaceId });
  if (!(await teams.replaceSecret(name, place))) throw noSuchTeam(name);
  changed(name, "secret replaced");
  const how = "file" in place ? `stays in ${place.file}` : `is sealed under the key ${firstKey}`;
  say(`The team ${name} has another secret, which ${how}. It is used from the next token on.`);
  return 0;
}
