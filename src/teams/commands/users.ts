// Implements the actions of `mic-mcp teams` that concern users: the audit of a job, blocking, and what the database has of one user.
import { formatTables } from "../../cli/tables.ts";
import { UsageError } from "../../core/config.ts";
import { formatCount } from "../../core/counts.ts";
import { formatOperatorTable } from "../../core/table.ts";
import { formatJson as inJson, quote } from "../../core/untrusted-text.ts";
import { callerId } from "../caller.ts";
import type { Callers } from "../tenancy/callers.ts";
import type { Member, Teams } from "../tenancy/teams.ts";

export interface UserManager {
  readonly teams: Teams;
  readonly callers: Callers;
  /** The value of MIC_AUTH_ISSUER. */
  readonly issuer: string | undefined;
  /** Records in the audit that the operator changed a team or a user. `member`: the member who was added, removed or changed. */
  recordChange(team: string, what: string, member?: Member): void;
  print(text: string): void;
}

function toMember(subject: string, { issuer }: UserManager): Member {
  if (issuer === undefined) throw new UsageError("MIC_AUTH_ISSUER is missing: it is the issuer of the subject.");
  return { issuer, subject };
}

/** Prints `json`, or else the rows as a table, or else `none` if there are no rows. Returns the exit code. */
export function printRows(
  rows: Parameters<typeof formatOperatorTable>[0],
  none: string,
  json: object | false | undefined,
  { print }: Pick<UserManager, "print">,
): number {
  if (json) print(inJson(json));
  else print(rows.length === 0 ? none : formatTables(formatOperatorTable(rows), process.stdout));
  return 0;
}

const MAX_EXPORTED = 100_000;

export async function showAudit(
  { job, json }: { readonly job?: string | undefined; readonly json?: boolean | undefined },
  manager: UserManager,
): Promise<number> {
  if (job === undefined) throw new UsageError("mic-mcp teams audit requires --job ID.");
  const found = await manager.callers.readAudit("resource_id", job);
  const audit = found.map((row) => ({ ...row, at: new Date(row.at).toISOString() }));
  const rows = audit.map(({ resource_id: _, trace_id: __, ...row }) => row);
  return printRows(rows, `The audit has no row for ${quote(job)}.`, json && { audit }, manager);
}

export async function setBlocked(subject: string, isBlocked: boolean, manager: UserManager): Promise<number> {
  const member = toMember(subject, manager);
  await manager.callers.setBlocked(member, isBlocked);
  manager.recordChange("", isBlocked ? "user blocked" : "user unblocked", member);
  manager.print(
    isBlocked
      ? `Blocked ${quote(subject)}: within 5 s, the user belongs to no team. Run mic-mcp teams unblock to end this.`
      : `Unblocked ${quote(subject)}.`,
  );
  return 0;
}

export async function exportUser(subject: string, manager: UserManager): Promise<number> {
  const member = toMember(subject, manager);
  const teams = await manager.teams.list();
  const caller = callerId(member.issuer, subject);
  manager.print(
    inJson({
      ...member,
      caller,
      memberOf: teams
        .filter(({ members }) => members.some((each) => each.issuer === member.issuer && each.subject === subject))
        .map(({ name }) => name),
      actions: await manager.callers.readActions(member, teams),
      audit: await manager.callers.readAudit("caller", caller, MAX_EXPORTED),
    }),
  );
  return 0;
}

export async function eraseUser(subject: string, manager: UserManager): Promise<number> {
  const member = toMember(subject, manager);
  const { erased, left } = await manager.callers.erase(member, await manager.teams.list());
  manager.recordChange("", "user erased", member);
  const rest =
    left === 0
      ? ""
      : ` ${formatCount(left, "action is", "actions are")} unresolved or younger than 20 h: run this again later.`;
  manager.print(
    `Erased ${quote(subject)}: the subject, the memberships and ${formatCount(erased, "action")}.${rest} The audit keeps the hash of the user.`,
  );
  return 0;
}
