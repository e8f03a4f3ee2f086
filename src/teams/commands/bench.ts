// What the actions of `mic-mcp teams` work with, and what several of them ask for.

import { isInteractive, openPrompter, readSecretFromStdin } from "../../cli/prompt.ts";
import { checkCredential, UsageError } from "../../config.ts";
import { Failure } from "../../failure.ts";
import { quote } from "../../outside.ts";
import type { Secrets } from "../keys/team-secrets.ts";
import type { Member, SecretPlace, Teams } from "../tenancy/teams.ts";

export interface TeamFlags {
  readonly "base-url"?: string | undefined;
  readonly "client-id"?: string | undefined;
  readonly "workspace-id"?: string | undefined;
  readonly claim?: string | undefined;
  readonly member?: readonly string[] | undefined;
  readonly "secret-stdin"?: boolean | undefined;
  readonly "secret-file"?: string | undefined;
  readonly unproven?: boolean | undefined;
  readonly json?: boolean | undefined;
}

export interface Bench {
  readonly teams: Teams;
  readonly secrets: Secrets;
  /** The id of the key that seals. */
  readonly firstKey: string;
  /** MIC_BASE_URL. */
  readonly baseUrl: string | undefined;
  /** MIC_AUTH_ISSUER. */
  readonly issuer: string | undefined;
  /** Writes into the audit that the operator has changed a team. `who`: the member whom it is about. */
  changed(team: string, what: string, who?: Member): void;
  /** A line on stdout. */
  say(text: string): void;
}

export const noSuchTeam = (name: string): Failure =>
  new Failure({
    kind: "not_found",
    message: `There is no team ${quote(name)}.`,
    retryable: false,
    sideEffect: "none",
    next: "mic-mcp teams list has their names.",
  });

/** Throws UsageError. */
export function membersOf({ member: subjects = [] }: TeamFlags, { issuer }: Bench): readonly Member[] {
  if (subjects.length === 0) return [];
  if (issuer === undefined)
    throw new UsageError("MIC_AUTH_ISSUER is missing: --member is a subject of that identity provider.");
  return subjects.map((subject) => {
    if (subject === "") throw new UsageError("--member takes a subject, as sub in its access tokens.");
    return { issuer, subject };
  });
}

/** A secret, and where it is to be kept. */
export interface GivenSecret {
  readonly text: string;
  readonly place: SecretPlace;
}

async function typedSecret(): Promise<string> {
  const prompter = openPrompter();
  try {
    return await prompter.askSecret("Client secret (not shown): ");
  } finally {
    prompter.close();
  }
}

/** From stdin, a file, or whoever is at the terminal. Throws UsageError, and Failure where the file cannot be used. */
export async function givenSecret(name: string, flags: TeamFlags, { secrets }: Bench): Promise<GivenSecret> {
  const { "secret-stdin": isOnStdin, "secret-file": file } = flags;
  if (isOnStdin && file !== undefined)
    throw new UsageError("--secret-stdin and --secret-file are two places of one secret: give one of them.");
  if (file !== undefined) {
    if (!file.startsWith("/"))
      throw new UsageError("--secret-file takes a path from / on: instances read it, wherever they start.");
    const place = { file };
    return { text: await secrets.of({ name, secret: place }), place };
  }
  if (!isOnStdin && !isInteractive())
    throw new UsageError("There is no terminal to ask on: give --secret-stdin or --secret-file PATH.");
  const text = checkCredential("client secret", await (isOnStdin ? readSecretFromStdin() : typedSecret()));
  return { text, place: { sealed: await secrets.seal(name, text) } };
}
