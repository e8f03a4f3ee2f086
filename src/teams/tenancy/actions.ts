// Reads the latest actions of a team from the journal, for its operator: of all callers, without arguments, bodies and outcomes.
import * as z from "zod/v4";
import { StoredId } from "../../actions/action-row.ts";
import { parseServiceName } from "../../actions/service-name.ts";
import type { Database } from "../../store/database.ts";
import type { Team } from "./teams.ts";

const LIMIT = 50;

const Row = z
  .object({
    service: z.string(),
    key: z.string(),
    tool: z.string(),
    state: z.string(),
    attempts: z.int(),
    resource_id: StoredId.nullable(),
    created_at: z.int(),
    updated_at: z.int(),
  })
  .transform(({ service, key, resource_id, created_at, updated_at, ...action }) => ({
    ...action,
    createdId: resource_id,
    /** Identifies the caller in the journal. The audit has their hash for the same key. */
    caller: parseServiceName(service)[1],
    createdAt: new Date(created_at).toISOString(),
    updatedAt: new Date(updated_at).toISOString(),
    idempotencyKey: key,
  }));

export type TeamAction = z.output<typeof Row>;

/** `state`: undefined for all. Throws the errors of the database, which must have the journal's tables. */
export async function readTeamActions(
  { query }: Pick<Database, "query">,
  { clientId }: Pick<Team, "clientId">,
  state: string | undefined,
): Promise<readonly TeamAction[]> {
  const rows = await query(
    `SELECT service, key, tool, state, attempts, resource_id, created_at, updated_at FROM actions
     WHERE starts_with(service, $1) AND ($2 = '' OR state = $2) ORDER BY updated_at DESC LIMIT ${LIMIT}`,
    // The name of the service begins with the client id, as JSON.
    [`[${JSON.stringify(clientId)},`, state ?? ""],
  );
  return rows.map((row) => Row.parse(row));
}
