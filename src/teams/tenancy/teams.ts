// Stores teams in the database: each has the client credentials of one workspace, and members. Changes only add to the tables, with
// statements that check what exists, so an older version can run at the same time.
import * as z from "zod/v4";
import { type Database, POSTGRES_CLOCK, type SqlValue } from "../../store/database.ts";
import { AUDIT_TABLES } from "../audit/rows.ts";
import { callerId } from "../caller.ts";

/** A name is part of a URL, /mcp/{team}. */
export const TEAM_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** The secret of a team: encrypted in the table, or the path of a file that another program writes. */
export type StoredSecret = { readonly encrypted: string } | { readonly file: string };

/**
 * `claim`: callers with this value in the claim MIC_AUTH_TEAM_CLAIM are members. `changedAt`: milliseconds since 1970, by the database's
 * clock.
 */
export type Team = z.output<typeof Row>;

export type NewTeam = Omit<Team, "changedAt">;

/** A caller who is listed as a member, and needs no claim. */
export interface Member {
  readonly issuer: string;
  readonly subject: string;
}

export interface TeamWithMembers extends Team {
  readonly members: readonly Member[];
}

/** A team of a caller, and when it last changed. `claim`: the claim value of the team, if the caller is a member because of it. */
export type Membership = Pick<Team, "name" | "changedAt" | "claim">;

/** Times are in milliseconds since 1970. `encrypted_secret`: see ../encryption.ts. `secret_file`: the same path on every instance. */
const TABLES = [
  `CREATE TABLE IF NOT EXISTS teams (
     name TEXT PRIMARY KEY, base_url TEXT NOT NULL, client_id TEXT NOT NULL, workspace_id TEXT NOT NULL, claim TEXT,
     encrypted_secret TEXT, secret_file TEXT, created_at BIGINT NOT NULL, changed_at BIGINT NOT NULL,
     CHECK ((encrypted_secret IS NULL) <> (secret_file IS NULL)))`,
  // One client belongs to one team, because its credentials can read all resources that were created with them.
  "CREATE UNIQUE INDEX IF NOT EXISTS teams_by_client ON teams (base_url, client_id)",
  "CREATE INDEX IF NOT EXISTS teams_by_claim ON teams (claim)",
  `CREATE TABLE IF NOT EXISTS team_members (
     issuer TEXT NOT NULL, subject TEXT NOT NULL, team TEXT NOT NULL REFERENCES teams (name) ON DELETE CASCADE,
     PRIMARY KEY (issuer, subject, team))`,
  "CREATE INDEX IF NOT EXISTS team_members_by_team ON team_members (team)",
  // The users behind the hashes in the journal and the audit. A blocked one belongs to no team.
  "CREATE TABLE IF NOT EXISTS callers (caller TEXT PRIMARY KEY, issuer TEXT NOT NULL, subject TEXT NOT NULL, blocked_at BIGINT)",
  ...AUDIT_TABLES,
];

/** Creates missing tables. Throws the errors of the database. */
export const prepareTables = (database: Database): Promise<void> =>
  database.withExclusiveTransaction(async (query) => {
    for (const table of TABLES) await query(table);
  });

const SELECT = `SELECT name, base_url AS "baseUrl", client_id AS "clientId", workspace_id AS "workspaceId", claim,
  encrypted_secret AS encrypted, secret_file AS file, changed_at AS "changedAt" FROM teams`;
const Row = z
  .object({
    name: z.string(),
    baseUrl: z.string(),
    clientId: z.string(),
    workspaceId: z.string(),
    claim: z
      .string()
      .nullable()
      .transform((claim) => claim ?? undefined),
    encrypted: z.string().nullable(),
    file: z.string().nullable(),
    changedAt: z.int(),
  })
  .transform(({ encrypted, file, ...team }) => {
    const secret: StoredSecret = encrypted === null ? { file: file ?? "" } : { encrypted };
    return { ...team, secret };
  });

const MemberRow = z.object({ team: z.string(), issuer: z.string(), subject: z.string() });
const VersionRow = z.object({ name: z.string(), changed_at: z.int() });
const MembershipRow = VersionRow.extend({ claim: z.string().nullable() });

/** Sets the time of a change, which instances compare. It increases with each change. */
const SET_CHANGED = `changed_at = GREATEST(teams.changed_at + 1, ${POSTGRES_CLOCK})`;
/** Completes a statement whose CTE `members` changes the members of a team. */
const SET_TEAM_CHANGED = `UPDATE teams SET ${SET_CHANGED} FROM members WHERE name = members.team RETURNING name`;

const encryptedTextOf = (secret: StoredSecret): string | null => ("encrypted" in secret ? secret.encrypted : null);
const filePathOf = (secret: StoredSecret): string | null => ("file" in secret ? secret.file : null);

export type Teams = ReturnType<typeof createTeams>;

/** `query`: runs statements on a database with the tables above. The methods throw its errors. */
export function createTeams({ query }: Pick<Database, "query">) {
  /** Returns whether the statement has changed a row. */
  const executeChange = async (sql: string, values: readonly SqlValue[]): Promise<boolean> =>
    (await query(sql, values)).length > 0;

  async function find(name: string): Promise<Team | undefined> {
    const [row] = await query(`${SELECT} WHERE name = $1`, [name]);
    return row && Row.parse(row);
  }

  return {
    find,

    async list(): Promise<readonly TeamWithMembers[]> {
      const members = (await query("SELECT * FROM team_members ORDER BY issuer, subject")).map((row) =>
        MemberRow.parse(row),
      );
      const teams = (await query(`${SELECT} ORDER BY name`)).map((row) => Row.parse(row));
      return teams.map((team) => ({ ...team, members: members.filter((member) => member.team === team.name) }));
    },

    /** The base URL of the oldest team. Most deployments use only one API. */
    async findFirstBaseUrl(): Promise<string | undefined> {
      const [row] = await query(`${SELECT} ORDER BY created_at, name LIMIT 1`);
      return row && Row.parse(row).baseUrl;
    },

    /** When each team, or its members, last changed. */
    async readVersions(): Promise<ReadonlyMap<string, number>> {
      const rows = await query("SELECT name, changed_at FROM teams");
      return new Map(rows.map((row) => VersionRow.parse(row)).map(({ name, changed_at }) => [name, changed_at]));
    },

    /** The teams whose claim value is among `groups`, and the teams that list the caller as a member. Sorted by name. */
    async findByCaller({ issuer, subject }: Member, groups: readonly string[]): Promise<readonly Membership[]> {
      const rows = await query(
        `SELECT name, changed_at, claim FROM teams
         WHERE (claim IN (SELECT json_array_elements_text($3::json))
           OR name IN (SELECT team FROM team_members WHERE issuer = $1 AND subject = $2))
           AND NOT EXISTS (SELECT 1 FROM callers WHERE caller = $4 AND blocked_at IS NOT NULL)
         ORDER BY name`,
        [issuer, subject, JSON.stringify(groups), callerId(issuer, subject)],
      );
      return rows.map((row) => {
        const { name, changed_at: changedAt, claim } = MembershipRow.parse(row);
        return { name, changedAt, claim: claim !== null && groups.includes(claim) ? claim : undefined };
      });
    },

    /** Undefined if the team was added; otherwise the name of the team that already has this name or this client. */
    async add(team: NewTeam): Promise<string | undefined> {
      const { name, baseUrl, clientId, workspaceId, claim, secret } = team;
      const isAdded = await executeChange(
        `INSERT INTO teams (name, base_url, client_id, workspace_id, claim, encrypted_secret, secret_file, created_at, changed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, ${POSTGRES_CLOCK}, ${POSTGRES_CLOCK}) ON CONFLICT DO NOTHING RETURNING name`,
        [name, baseUrl, clientId, workspaceId, claim ?? null, encryptedTextOf(secret), filePathOf(secret)],
      );
      if (isAdded) return undefined;
      const sql = "SELECT name FROM teams WHERE name = $1 OR (base_url = $2 AND client_id = $3)";
      const [existing] = await query(sql, [name, baseUrl, clientId]);
      return existing ? String(existing["name"]) : name;
    },

    setClaim: (name: string, claim: string): Promise<boolean> =>
      executeChange(`UPDATE teams SET claim = $2, ${SET_CHANGED} WHERE name = $1 RETURNING name`, [name, claim]),

    /** Returns the members who were not listed before. */
    async addMembers(name: string, members: readonly Member[]): Promise<readonly Member[]> {
      const added: Member[] = [];
      for (const member of members) {
        const isNew = await executeChange(
          `WITH members AS (INSERT INTO team_members (team, issuer, subject) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING team)
           ${SET_TEAM_CHANGED}`,
          [name, member.issuer, member.subject],
        );
        if (isNew) added.push(member);
      }
      return added;
    },

    removeMember: (name: string, { issuer, subject }: Member): Promise<boolean> =>
      executeChange(
        `WITH members AS (DELETE FROM team_members WHERE team = $1 AND issuer = $2 AND subject = $3 RETURNING team)
         ${SET_TEAM_CHANGED}`,
        [name, issuer, subject],
      ),

    /** False if the team does not exist. Its actions stay in the journal. */
    remove: (name: string): Promise<boolean> =>
      executeChange("DELETE FROM teams WHERE name = $1 RETURNING name", [name]),

    /** False if the team does not exist. */
    replaceSecret: (name: string, secret: StoredSecret): Promise<boolean> =>
      executeChange(
        `UPDATE teams SET encrypted_secret = $2, secret_file = $3, ${SET_CHANGED} WHERE name = $1 RETURNING name`,
        [name, encryptedTextOf(secret), filePathOf(secret)],
      ),

    /** Stores the same secret after re-encryption, which is not a change of the team. False if the stored secret is no longer `before`. */
    async replaceEncrypted(name: string, before: string, encrypted: string): Promise<boolean> {
      const sql = "UPDATE teams SET encrypted_secret = $3 WHERE name = $1 AND encrypted_secret = $2 RETURNING name";
      return (await query(sql, [name, before, encrypted])).length > 0;
    },
  };
}
