// Keeps the secret of the upstream idempotency keys in the database, encrypted. It is made once and never replaced: if the journal lost an
// action, the API recognizes a repeated key only while the secret is the same.
import * as z from "zod/v4";
import { memoizeUntilFailure } from "../../core/async.ts";
import { notConfigured } from "../../core/failure.ts";
import { ask, raw, say } from "../../core/text.ts";
import type { Database } from "../../store/database.ts";
import { DecryptionError, type Encryption, type SecretKeys } from "../encryption.ts";

export const SECRETS_TABLES = { deployment_secrets: "name TEXT PRIMARY KEY, encrypted TEXT NOT NULL" };

const NAME = "upstream keys";
/** It is encrypted like the secret of a team with this name, which no team can have. */
const OWNER = "";
/** Earlier versions derived the secret from the first key for this purpose, so their journals continue with it. */
const PURPOSE = "wire";

const Row = z.object({ encrypted: z.string() });

export type UpstreamSecret = ReturnType<typeof createUpstreamSecret>;

export function createUpstreamSecret({ query }: Pick<Database, "query">, encryption: Encryption, keys: SecretKeys) {
  async function find(): Promise<string | undefined> {
    const [row] = await query("SELECT encrypted FROM deployment_secrets WHERE name = $1", [NAME]);
    return row && Row.parse(row).encrypted;
  }

  /** If another instance is faster, its secret is the one that is found. */
  async function create(): Promise<void> {
    const secret = Buffer.from(keys.derive(keys.first, PURPOSE) ?? []).toString("base64");
    await query("INSERT INTO deployment_secrets (name, encrypted) VALUES ($1, $2) ON CONFLICT DO NOTHING", [
      NAME,
      await encryption.encryptSecret(OWNER, secret),
    ]);
  }

  return {
    /** Throws the errors of the database, and Failure `not_configured` if no key of the deployment decrypts the secret. */
    read: memoizeUntilFailure(async (): Promise<Uint8Array> => {
      let encrypted = await find();
      if (encrypted === undefined) {
        await create();
        encrypted = (await find()) ?? "";
      }
      try {
        return Buffer.from((await encryption.decryptSecret(OWNER, encrypted)).secret, "base64");
      } catch (error) {
        if (!(error instanceof DecryptionError)) throw error;
        throw notConfigured(
          say`The secret of the upstream keys cannot be used: ${raw(error.message)}.`,
          say`${ask("Have")} the operator of this server add the key that is missing to MIC_SECRET_KEYS_FILE.`,
        );
      }
    }).get,

    /** Encrypts the secret with the first key. False if that key encrypts it already, undefined without a secret. Throws DecryptionError. */
    async reencrypt(): Promise<boolean | undefined> {
      const before = await find();
      if (before === undefined) return undefined;
      const { secret, isFirstKey } = await encryption.decryptSecret(OWNER, before);
      if (isFirstKey) return false;
      const sql = "UPDATE deployment_secrets SET encrypted = $3 WHERE name = $1 AND encrypted = $2 RETURNING name";
      return (await query(sql, [NAME, before, await encryption.encryptSecret(OWNER, secret)])).length > 0;
    },
  };
}
