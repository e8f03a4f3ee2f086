// Encrypts team secrets in the database, and values that clients store and send back, with the keys of the deployment (MIC_SECRET_KEYS_FILE).
// The first key encrypts, and all keys decrypt, on any instance. Each purpose has a separate key that is derived from them.
import { hkdfSync } from "node:crypto";
import { CompactEncrypt, compactDecrypt, EncryptJWT, errors, jwtDecrypt } from "jose";
import * as z from "zod/v4";
import type { IdCodec } from "../credentials/signed-ids.ts";

const KEY_BYTES = 32;
const LINE = /^(?<id>[A-Za-z0-9._-]{1,64})\s+(?<key>[A-Za-z0-9+/]{43}=)$/;

export type SecretKeys = ReturnType<typeof readSecretKeys>;

/** Lines `id base64-of-32-bytes`; comments begin with #. Throws Error with the number of the wrong line, which it does not quote. */
export function readSecretKeys(text: string) {
  const masters = new Map<string, Buffer>();
  const lines = text.split("\n").map((line, at) => ({ line: line.trim(), at: at + 1 }));
  for (const { line, at } of lines) {
    if (line === "" || line.startsWith("#")) continue;
    const { id, key } = LINE.exec(line)?.groups ?? {};
    if (id === undefined || key === undefined)
      throw new Error(
        `line ${at} is not an id followed by ${KEY_BYTES} bytes in base64 (create one with openssl rand -base64 32)`,
      );
    if (masters.has(id)) throw new Error(`line ${at} repeats the id of an earlier line`);
    masters.set(id, Buffer.from(key, "base64"));
  }
  const [first] = masters.keys();
  if (first === undefined) throw new Error("no line has a key");
  return {
    /** The id of the key that encrypts. */
    first,
    /** Derives a key of 32 bytes for one purpose from the key with this id. Returns undefined if that key does not exist. */
    derive(id: string, purpose: string): Uint8Array | undefined {
      const master = masters.get(id);
      return master && new Uint8Array(hkdfSync("sha256", master, new Uint8Array(0), `mic-mcp ${purpose}`, KEY_BYTES));
    },
  };
}

/** The kind of value that a client stores and sends back: a question to the user, a task, a link to a file. */
export type Purpose = "question" | "task" | "download";

const TEAM_SECRET = "team-secret";
const SecretHeader = z.looseObject({ kid: z.string(), use: z.literal(TEAM_SECRET), team: z.string() });
/** A longer token is refused without decryption. */
const MAX_CHARS = 16_384;

interface Decrypted<T> {
  /** The caller for whom it was encrypted. */
  readonly caller: string;
  readonly value: T;
}

/** Thrown for a secret that no key of this deployment decrypts, or that was encrypted for another team. */
export class DecryptionError extends Error {
  override readonly name = "DecryptionError";
}

export type Encryption = ReturnType<typeof createEncryption>;

export function createEncryption(keys: SecretKeys) {
  function keyOf(kid: string, purpose: string): Uint8Array {
    const key = keys.derive(kid, purpose);
    if (key) return key;
    throw new DecryptionError(
      `it was encrypted with the key ${JSON.stringify(kid)}, which is not in MIC_SECRET_KEYS_FILE`,
    );
  }

  /** `subject`: if set, only a token for this subject is accepted. Returns "expired" if the token is authentic and has expired. */
  async function decryptForAny<T>(
    purpose: Purpose,
    text: string,
    schema: z.ZodType<T>,
    subject?: string,
  ): Promise<Decrypted<T> | "expired" | undefined> {
    if (text.length > MAX_CHARS) return undefined;
    try {
      const { payload } = await jwtDecrypt(text, ({ kid = "" }: { kid?: string }) => keyOf(kid, purpose), {
        subject,
        audience: purpose,
        keyManagementAlgorithms: ["dir"],
        contentEncryptionAlgorithms: ["A256GCM"],
        requiredClaims: ["exp", "sub"],
      });
      const value = schema.safeParse(payload["value"]);
      return value.success ? { caller: payload.sub ?? "", value: value.data } : undefined;
    } catch (error) {
      // jose decrypts a token before it reads its claims, so an expired token is authentic.
      return error instanceof errors.JWTExpired ? "expired" : undefined;
    }
  }

  return {
    /** Encrypts a team's secret under a new key, which the first key of the deployment wraps (RFC 7516, A256GCMKW and A256GCM). */
    encryptSecret: (team: string, secret: string): Promise<string> =>
      new CompactEncrypt(Buffer.from(secret))
        .setProtectedHeader({ alg: "A256GCMKW", enc: "A256GCM", kid: keys.first, use: TEAM_SECRET, team })
        .encrypt(keyOf(keys.first, TEAM_SECRET)),

    async decryptSecret(
      team: string,
      text: string,
    ): Promise<{ readonly secret: string; readonly isFirstKey: boolean }> {
      try {
        const { protectedHeader, plaintext } = await compactDecrypt(
          text,
          ({ kid = "" }: { kid?: string }) => keyOf(kid, TEAM_SECRET),
          { keyManagementAlgorithms: ["A256GCMKW"], contentEncryptionAlgorithms: ["A256GCM"] },
        );
        const header = SecretHeader.parse(protectedHeader);
        if (header.team !== team) throw new DecryptionError(`it was encrypted for team ${JSON.stringify(header.team)}`);
        return { secret: Buffer.from(plaintext).toString(), isFirstKey: header.kid === keys.first };
      } catch (error) {
        throw error instanceof DecryptionError
          ? error
          : new DecryptionError("it was modified after encryption", { cause: error });
      }
    },

    /** Encrypts a value that the client of this caller stores and sends back, for this purpose and this many seconds. */
    encrypt: (purpose: Purpose, caller: string, value: object, seconds: number): Promise<string> =>
      new EncryptJWT({ value })
        .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid: keys.first })
        .setSubject(caller)
        .setAudience(purpose)
        .setExpirationTime(`${seconds}s`)
        .encrypt(keyOf(keys.first, purpose)),

    /** Undefined if the token is invalid, was changed, has expired, or was encrypted for another purpose or caller. */
    async decrypt<T>(purpose: Purpose, caller: string, text: string, schema: z.ZodType<T>): Promise<T | undefined> {
      const found = await decryptForAny(purpose, text, schema, caller);
      return typeof found === "object" ? found.value : undefined;
    },

    /** Like `decrypt`, for a token of any caller unless `subject` is set. */
    decryptForAny,
  };
}

/** The subject of tokens for a caller in a team: it differs for each of their teams. `team`: undefined for a caller in no team. */
export const tokenSubjectOf = (team: string | undefined, caller: string): string =>
  JSON.stringify([team ?? null, caller]);

/** 10 years: in practice, a task id is valid until its key is removed. */
const TASK_SECONDS = 10 * 365 * 86_400;

/** `subject`: see `tokenSubjectOf`. */
export const createEncryptedTaskIds = <T extends object>(
  encryption: Encryption,
  subject: string,
  schema: z.ZodType<T>,
): IdCodec<T> => ({
  encode: (value) => encryption.encrypt("task", subject, value, TASK_SECONDS),
  decode: (id) => encryption.decrypt("task", subject, id, schema),
});

interface McpRequestContext {
  readonly mcpReq: { readonly method: string };
}

const QuestionState = z.strictObject({ method: z.string(), asked: z.unknown() });

/** Encrypts questions to the user, each for one MCP method. `seconds`: time to answer. */
export const createEncryptedQuestions = (encryption: Encryption, subject: string, seconds: number) => ({
  mint: (asked: unknown, { mcpReq: { method } }: McpRequestContext = { mcpReq: { method: "" } }): Promise<string> =>
    encryption.encrypt("question", subject, { method, asked }, seconds),
  /** Returns the question. Rejects a text that was not minted for this subject and method, or has expired. */
  async verify(text: string, { mcpReq: { method } }: McpRequestContext): Promise<unknown> {
    const found = await encryption.decrypt("question", subject, text, QuestionState);
    if (found?.method !== method) throw new Error("it was encrypted for another caller or purpose, or has expired");
    return found.asked;
  },
});
