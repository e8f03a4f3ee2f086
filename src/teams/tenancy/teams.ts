// Teams as the database has them: one set of service credentials with one workspace, and who belongs to it.
import * as z from "zod/v4";
import type { Database, Value } from "../../actions/database.ts";

/** What instances are told of each change: the team's name. */
export const CHANNEL = "mic_teams";

/** A name is part of a URL, /mcp/{team}. */
export const TEAM_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** Where a team's secret is: under a seal in the table, or in a file that somebody else projects. */
export type SecretPlace = { readonly sealed: string } | { readonly file: string };

export interface Team {
  readonly name: string;
  readonly baseUrl: string;
  readonly clientId: string;
  readonly workspaceId: string;
  /** Whose MIC_AUTH_TEAM_CLAIM holds it belongs to the team. */
  readonly claim: string | undefined;
  readonly secret: SecretPlace;
  /** Milliseconds since 1970, as the database's clock has it. */
  readonly changedAt: number;
}

export type NewTeam = Omit<Team, "changedAt">;

/** A caller who is listed for a team by himself. */
export interface Member {
  readonly issuer: string;
  readonly subject: string;
}

export interface ListedTeam extends Team {
  readonly members: readonly Member[];
}

/** A team that a caller belongs to, and which state of it. `claim`: the value of its claim, if the caller has that group. */
export type Belonging = Pick<Team, "name" | "changedAt" | "claim">;

const Row = z
  .object({
    name: z.string(),
    base_url: z.string(),
    client_id: z.string(),
    workspace_id: z.string(),
    claim: z.string().nullable(),
    sealed: z.string().nullable(),
    secret_file: z.string().nullable(),
    changed_at: z.int(),
  })
  .transform(
    (row): Team => ({
      name: row.name,
      baseUrl: row.base_url,
      clientId: row.client_id,
      workspaceId: row.workspace_id,
      claim: row.claim ?? undefined,
      secret: row.sealed === null ? { file: row.secret_file ?? "" } : { sealed: row.sealed },
      changedAt: row.changed_at,
    }),
  );

const MemberRow = z.object({ team: z.string(), issuer: z.string(), subject: z.string() });
const BelongingRow = z.object({ name: z.string(), changed_at: z.int(), claim: z.string().nullable() });

const NOW = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";
/** Behind a change as `changed`: whether there was one, and every instance hears of it. */
const TELL = `SELECT name, pg_notify('${CHANNEL}', name) FROM changed`;

const sealedOf = (secret: SecretPlace): string | null => ("sealed" in secret ? secret.sealed : null);
const fileOf = (secret: SecretPlace): string | null => ("file" in secret ? secret.file : null);

export type Teams = ReturnType<typeof createTeams>;

/** `query`: of a database with the tables of tables.ts. The methods throw what it throws. */
export function createTeams({ query: ask }: Pick<Database, "query">) {
  const changes = async (sql: string, values: readonly Value[]): Promise<boolean> =>
    (await ask(`WITH changed AS (${sql}) ${TELL}`, values)).length > 0;

  async function find(name: string): Promise<Team | undefined> {
    const [row] = await ask("SELECT * FROM teams WHERE name = $1", [name]);
    return row && Row.parse(row);
  }

  return {
    find,

    /** By their names. */
    async list(): Promise<readonly ListedTeam[]> {
      const members = (await ask("SELECT * FROM team_members ORDER BY issuer, subject")).map((row) =>
        MemberRow.parse(row),
      );
      const teams = (await ask("SELECT * FROM teams ORDER BY name")).map((row) => Row.parse(row));
      return teams.map((team) => ({ ...team, members: members.filter((member) => member.team === team.name) }));
    },

    /** Where the oldest team's service is: most deployments have one service. */
    async firstBaseUrl(): Promise<string | undefined> {
      const [row] = await ask("SELECT * FROM teams ORDER BY created_at, name LIMIT 1");
      return row && Row.parse(row).baseUrl;
    },

    /** Where he belongs: by a value of the claim, or because he is listed. By their names. */
    async of({ issuer, subject }: Member, groups: readonly string[]): Promise<readonly Belonging[]> {
      const rows = await ask(
        `SELECT name, changed_at, claim FROM teams
         WHERE claim IN (SELECT json_array_elements_text($3::json))
           OR name IN (SELECT team FROM team_members WHERE issuer = $1 AND subject = $2)
         ORDER BY name`,
        [issuer, subject, JSON.stringify(groups)],
      );
      return rows.map((row) => {
        const { name, changed_at: changedAt, claim } = BelongingRow.parse(row);
        return { name, changedAt, claim: claim !== null && groups.includes(claim) ? claim : undefined };
      });
    },

    /** Undefined where it was added; else the name of the team that has this name or this client already. */
    async add(team: NewTeam): Promise<string | undefined> {
      const { name, baseUrl, clientId, workspaceId, claim, secret } = team;
      const isAdded = await changes(
        `INSERT INTO teams (name, base_url, client_id, workspace_id, claim, sealed, secret_file, created_at, changed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, ${NOW}, ${NOW}) ON CONFLICT DO NOTHING RETURNING name`,
        [name, baseUrl, clientId, workspaceId, claim ?? null, sealedOf(secret), fileOf(secret)],
      );
      if (isAdded) return undefined;
      const [row] = await ask("SELECT * FROM teams WHERE name = $1 OR (base_url = $2 AND client_id = $3)", [
        name,
        baseUrl,
        clientId,
      ]);
      return row ? Row.parse(row).name : name;
    },

    /** False where there is no such team. */
    setClaim: (name: string, claim: string): Promise<boolean> =>
      changes(`UPDATE teams SET claim = $2, changed_at = ${NOW} WHERE name = $1 RETURNING name`, [name, claim]),

    /** Those who are listed already stay so; returns those who were not. */
    async addMembers(name: string, members: readonly Member[]): Promise<readonly Member[]> {
      const added: Member[] = [];
      for (const member of members) {
        const isNew = await changes(
          "INSERT INTO team_members (team, issuer, subject) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING team AS name",
          [name, member.issuer, member.subject],
        );
        if (isNew) added.push(member);
      }
      return added;
    },

    /** False where he was not listed. */
    removeMember: (name: string, { issuer, subject }: Member): Promise<boolean> =>
      changes("DELETE FROM team_members WHERE team = $1 AND issuer = $2 AND subject = $3 RETURNING team AS name", [
        name,
        issuer,
        subject,
      ]),

    /** False where there is no such team. What it did stays in the journal. */
    remove: (name: string): Promise<boolean> => changes("DELETE FROM teams WHERE name = $1 RETURNING name", [name]),

    /** False where there is no such team. */
    replaceSecret: (name: string, secret: SecretPlace): Promise<boolean> =>
      changes(`UPDATE teams SET sealed = $2, secret_file = $3, changed_at = ${NOW} WHERE name = $1 RETURNING name`, [
        name,
        sealedOf(secret),
        fileOf(secret),
      ]),

    /** The same secret under another seal: nobody need hear of it. False where it was replaced meanwhile. */
    async reseal(name: string, before: string, sealed: string): Promise<boolean> {
      const sql = "UPDATE teams SET sealed = $3 WHERE name = $1 AND sealed = $2 RETURNING name";
      return (await ask(sql, [name, before, sealed])).length > 0;
    },
  };
}
