// Reads the latest actions of teams from the journal, for their operator: of all callers, without arguments, bodies and outcomes.
import * as z from "zod/v4";
import { StoredId } from "../../actions/action-row.ts";
import { parseServiceName } from "../../actions/service-name.ts";
import { type Database, POSTGRES_CLOCK } from "../../store/database.ts";
import type { Callers } from "./callers.ts";
import type { Team } from "./teams.ts";

const LIMIT = 50;

/** As in `list_actions` and the metric: an action in progress whose lease has expired has an unknown outcome. */
const STATE = `CASE WHEN state = 'in_progress' AND lease_until < ${POSTGRES_CLOCK} THEN 'unknown' ELSE state END`;

const Row = z.object({
  service: z.string(),
  key: z.string(),
  tool: z.string(),
  state: z.string(),
  attempts: z.int(),
  resource_id: StoredId.nullable(),
  created_at: z.int(),
  updated_at: z.int(),
});

export type TeamAction = Awaited<ReturnType<typeof readTeamActions>>[number];

/** `state`: undefined for all. Throws the errors of the database, which must have the journal's tables. */
export async function readTeamActions(
  { query }: Pick<Database, "query">,
  callers: Pick<Callers, "findByService">,
  teams: readonly Team[],
  state: string | undefined,
) {
  const known = await callers.findByService(teams);
  const found = await query(
    `SELECT service, key, tool, ${STATE} AS state, attempts, resource_id, created_at, updated_at FROM actions
     WHERE service::json ->> 0 IN (SELECT json_array_elements_text($1::json)) AND ($2 = '' OR ${STATE} = $2)
     ORDER BY updated_at DESC LIMIT ${LIMIT}`,
    // The name of the service begins with the client id.
    [JSON.stringify(teams.map(({ clientId }) => clientId)), state ?? ""],
  );
  return found.map((row) => {
    const { service, key, resource_id, created_at, updated_at, ...action } = Row.parse(row);
    const [clientId, hash] = parseServiceName(service);
    const user = known.get(service);
    return {
      ...action,
      team: user?.team ?? teams.find((team) => team.clientId === clientId)?.name ?? "",
      createdId: resource_id,
      /** As in the audit and the log, or the hash in the journal for a caller without a call since the upgrade. */
      caller: user?.caller ?? hash,
      subject: user?.subject,
      issuer: user?.issuer,
      createdAt: new Date(created_at).toISOString(),
      updatedAt: new Date(updated_at).toISOString(),
      idempotencyKey: key,
    };
  });
}
