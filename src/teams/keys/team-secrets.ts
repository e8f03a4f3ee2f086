// The secrets of teams: opened when a token is needed, from their seal in the table or from a file that somebody else projects.
import { readFile } from "node:fs/promises";
import * as z from "zod/v4";
import { BoundedMap } from "../../bounded-map.ts";
import { errorCode, type Failure, notConfigured, reasonOf } from "../../failure.ts";
import { quote } from "../../outside.ts";
import type { Team } from "../tenancy/teams.ts";
import { SealBroken, type Seals } from "./encryption.ts";

/** A file is read at most this often. */
const FILE_KEPT_MS = 10_000;
const MAX_FILES = 1_000;
const MAX_CHARS = 4_096;

/** What a credential can be: what fits a header once it is encoded. */
const isSecret = (text: string): boolean => /^[\x20-\x7e]+$/.test(text) && text.length <= MAX_CHARS;

const ASK =
  "Ask the user to contact the operator of this server: mic-mcp teams check reports what is wrong, and mic-mcp teams rotate replaces the secret.";

const unreadable = ({ name }: Pick<Team, "name">, why: string): Failure =>
  notConfigured(`The client secret of the team ${quote(name)} cannot be used: ${why}.`, ASK);

const Header = z.object({ kid: z.string() });

/** The id of the key that a secret is sealed under; undefined where it is no seal. */
export function keyOf(sealed: string): string | undefined {
  const [header = ""] = sealed.split(".");
  try {
    return Header.parse(JSON.parse(Buffer.from(header, "base64url").toString())).kid;
  } catch {
    return undefined;
  }
}

export type Secrets = ReturnType<typeof createSecrets>;

export function createSecrets({ seals, now }: { readonly seals: Seals; readonly now: () => number }) {
  const files = new BoundedMap<string, { readonly text: Promise<string>; readonly readAt: number }>(MAX_FILES);

  async function fromFile(path: string): Promise<string> {
    const kept = files.get(path);
    if (kept && now() - kept.readAt < FILE_KEPT_MS) return await kept.text;
    const text = readFile(path, "utf8").then((whole) => whole.replace(/\r?\n$/, ""));
    files.delete(path);
    files.set(path, { text, readAt: now() });
    return await text;
  }

  return {
    /** Throws Failure `not_configured`, which says why and quotes nothing. */
    async of(team: Pick<Team, "name" | "secret">): Promise<string> {
      const { secret } = team;
      if ("sealed" in secret)
        try {
          return (await seals.openSecret(team.name, secret.sealed)).secret;
        } catch (error) {
          throw error instanceof SealBroken ? unreadable(team, error.message) : error;
        }
      let text: string;
      try {
        text = await fromFile(secret.file);
      } catch (error) {
        throw unreadable(team, `${quote(secret.file)} cannot be read (${errorCode(error) || reasonOf(error)})`);
      }
      if (!isSecret(text)) throw unreadable(team, `${quote(secret.file)} holds no printable ASCII text alone`);
      return text;
    },

    seal: (name: string, secret: string): Promise<string> => seals.sealSecret(name, secret),

    /** The same secret under the first key; undefined where it is so already. Throws SealBroken. */
    async resealed(name: string, sealed: string): Promise<string | undefined> {
      const { secret, isOfFirstKey } = await seals.openSecret(name, sealed);
      return isOfFirstKey ? undefined : await seals.sealSecret(name, secret);
    },
  };
}
