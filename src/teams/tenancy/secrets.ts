// Reads the client secrets of teams when a token is needed: encrypted in the table, or from a file that another program writes.
import { readFile } from "node:fs/promises";
import { decodeProtectedHeader } from "jose";
import { LRUCache } from "lru-cache";
import { errorCode, errorMessage, type Failure, notConfigured } from "../../core/failure.ts";
import { ask, quoted, raw, say, type Text } from "../../core/text.ts";
import { DecryptionError, type Encryption } from "../encryption.ts";
import type { Team } from "./teams.ts";

/** A file is read at most once in this time. */
const FILE_CACHE_MS = 10_000;
const MAX_FILES = 1_000;
const MAX_CHARS = 4_096;

/** A secret must be printable ASCII, which can be sent in a header after encoding. */
const isSecret = (text: string): boolean => /^[\x20-\x7e]+$/.test(text) && text.length <= MAX_CHARS;

const ASK_OPERATOR = say`${ask("Contact")} the operator of this server: mic-mcp teams check reports what is wrong, and mic-mcp teams rotate-secret replaces the secret.`;

const unreadable = ({ name }: Pick<Team, "name">, why: Text): Failure =>
  notConfigured(say`The client secret of team ${quoted(name)} cannot be used: ${why}.`, ASK_OPERATOR);

/** The id of the key that encrypted a secret; undefined if it is not an encrypted secret. */
export function keyIdOf(encrypted: string): string | undefined {
  try {
    return decodeProtectedHeader(encrypted).kid;
  } catch {
    return undefined;
  }
}

export type Secrets = ReturnType<typeof createSecrets>;

export function createSecrets({ encryption, now }: { readonly encryption: Encryption; readonly now: () => number }) {
  const files = new LRUCache<string, string>({
    max: MAX_FILES,
    ttl: FILE_CACHE_MS,
    ttlResolution: 0,
    perf: { now },
    fetchMethod: async (path) => (await readFile(path, "utf8")).replace(/\r?\n$/, ""),
  });

  return {
    /** Throws Failure `not_configured` with the reason. The message never quotes the secret. */
    async read(team: Pick<Team, "name" | "secret">): Promise<string> {
      const { secret } = team;
      if ("encrypted" in secret)
        try {
          return (await encryption.decryptSecret(team.name, secret.encrypted)).secret;
        } catch (error) {
          throw error instanceof DecryptionError ? unreadable(team, [raw(error.message)]) : error;
        }
      let text: string;
      try {
        text = await files.forceFetch(secret.file);
      } catch (error) {
        throw unreadable(
          team,
          say`${quoted(secret.file)} cannot be read (${raw(errorCode(error) || errorMessage(error))})`,
        );
      }
      if (!isSecret(text)) throw unreadable(team, say`${quoted(secret.file)} must contain only printable ASCII text`);
      return text;
    },

    encrypt: encryption.encryptSecret,

    /** Encrypts a stored secret with the first key; undefined if that key already encrypts it. Throws DecryptionError. */
    async reencrypt(name: string, encrypted: string): Promise<string | undefined> {
      const { secret, isFirstKey } = await encryption.decryptSecret(name, encrypted);
      return isFirstKey ? undefined : await encryption.encryptSecret(name, secret);
    },
  };
}
