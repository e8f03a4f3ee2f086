// Seals of a deployment for teams: what it keeps in its database, and what it gives clients to bring back. Any instance with the
// keys opens them. Each purpose has a key of its own: what was sealed for one is nothing for another.
import { hkdfSync } from "node:crypto";
import * as z from "zod/v4";

// The keys, MIC_SECRET_KEYS: the first seals, all of them open. Each use has a key of its own, derived from them.

const KEY_BYTES = 32;
const LINE = /^(?<id>[A-Za-z0-9._-]{1,64})\s+(?<key>[A-Za-z0-9+/]{43}=)$/;

export interface SecretKeys {
  /** The id of the key that seals. */
  readonly first: string;
  readonly ids: readonly string[];
  /** Undefined where there is no such key any more. */
  derive(id: string, purpose: string): Uint8Array | undefined;
}

/**
 * `text`: lines `id base64-of-32-bytes`; empty lines and those that begin with # are left out. Throws Error, which says what is wrong and
 * quotes nothing.
 */
export function readSecretKeys(text: string): SecretKeys {
  const masters = new Map<string, Buffer>();
  const lines = text.split("\n").map((line, at) => ({ line: line.trim(), at: at + 1 }));
  for (const { line, at } of lines) {
    if (line === "" || line.startsWith("#")) continue;
    const { id, key } = LINE.exec(line)?.groups ?? {};
    if (id === undefined || key === undefined)
      throw new Error(
        `line ${at} is not an id and the base64 of ${KEY_BYTES} bytes (openssl rand -base64 32 makes one)`,
      );
    if (masters.has(id)) throw new Error(`line ${at} has the id of an earlier line`);
    masters.set(id, Buffer.from(key, "base64"));
  }
  const [first] = masters.keys();
  if (first === undefined) throw new Error("there is no key");
  const derived = new Map<string, Uint8Array>();
  return {
    first,
    ids: [...masters.keys()],
    derive(id, purpose) {
      const master = masters.get(id);
      if (!master) return undefined;
      const name = `${id} ${purpose}`;
      const key =
        derived.get(name) ??
        new Uint8Array(hkdfSync("sha256", master, new Uint8Array(0), `mic-mcp ${purpose}`, KEY_BYTES));
      derived.set(name, key);
      return key;
    },
  };
}

/** What clients bring back: a question to the person, a task, a link to a file. */
export type Purpose = "question" | "task" | "download";

const TEAM_SECRET = "team-secret";
const Header = z.looseObject({ kid: z.string() });
const SecretHeader = Header.extend({ use: z.literal(TEAM_SECRET), team: z.string() });
/** No seal that is longer is looked at. */
const MAX_CHARS = 16_384;

const loadJose = () => import("./jose.ts");

interface Opened<T> {
  /** For whom it was sealed. */
  readonly caller: string;
  readonly value: T;
}

export type Seals = ReturnType<typeof createSeals>;

/** A secret that no key of this deployment opens, or that was sealed for another team. */
export class SealBroken extends Error {
  override readonly name = "SealBroken";
}

export function createSeals(keys: SecretKeys) {
  function keyOf(kid: string, purpose: string): Uint8Array {
    const key = keys.derive(kid, purpose);
    if (key) return key;
    throw new SealBroken(`it was sealed with the key ${JSON.stringify(kid)}, which MIC_SECRET_KEYS does not have`);
  }

  async function unsealed<T>(
    purpose: Purpose,
    sealed: string,
    schema: z.ZodType<T>,
    subject?: string,
  ): Promise<Opened<T> | "late" | undefined> {
    if (sealed.length > MAX_CHARS) return undefined;
    const { jwtDecrypt, errors } = await loadJose();
    const options = {
      ...(subject !== undefined && { subject }),
      audience: purpose,
      keyManagementAlgorithms: ["dir"],
      contentEncryptionAlgorithms: ["A256GCM"],
      requiredClaims: ["exp", "sub"],
    };
    try {
      const { payload } = await jwtDecrypt(sealed, ({ kid = "" }: { kid?: string }) => keyOf(kid, purpose), options);
      const value = schema.safeParse(payload["value"]);
      return value.success ? { caller: payload.sub ?? "", value: value.data } : undefined;
    } catch (error) {
      // What is not ours has no time: it is decrypted before its claims are read.
      return error instanceof errors.JWTExpired ? "late" : undefined;
    }
  }

  return {
    /** Seals a team's secret: a key of its own, wrapped by the first of the deployment's (RFC 7516, A256GCMKW and A256GCM). */
    async sealSecret(team: string, secret: string): Promise<string> {
      const { CompactEncrypt } = await loadJose();
      return await new CompactEncrypt(Buffer.from(secret))
        .setProtectedHeader({ alg: "A256GCMKW", enc: "A256GCM", kid: keys.first, use: TEAM_SECRET, team })
        .encrypt(keyOf(keys.first, TEAM_SECRET));
    },

    /** Throws SealBroken, saying why. */
    async openSecret(
      team: string,
      sealed: string,
    ): Promise<{ readonly secret: string; readonly isOfFirstKey: boolean }> {
      const { compactDecrypt } = await loadJose();
      try {
        const options = { keyManagementAlgorithms: ["A256GCMKW"], contentEncryptionAlgorithms: ["A256GCM"] };
        const opened = await compactDecrypt(
          sealed,
          ({ kid = "" }: { kid?: string }) => keyOf(kid, TEAM_SECRET),
          options,
        );
        const header = SecretHeader.parse(opened.protectedHeader);
        if (header.team !== team) throw new SealBroken(`it was sealed for the team ${JSON.stringify(header.team)}`);
        return { secret: Buffer.from(opened.plaintext).toString(), isOfFirstKey: header.kid === keys.first };
      } catch (error) {
        throw error instanceof SealBroken ? error : new SealBroken("it is not what was sealed", { cause: error });
      }
    },

    /** Seals what a client keeps for us: for this purpose, this caller, and so many seconds. */
    async seal(purpose: Purpose, caller: string, value: object, seconds: number): Promise<string> {
      const { EncryptJWT } = await loadJose();
      return await new EncryptJWT({ value })
        .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid: keys.first })
        .setSubject(caller)
        .setAudience(purpose)
        .setExpirationTime(`${seconds}s`)
        .encrypt(keyOf(keys.first, purpose));
    },

    /** Undefined where it is not ours, altered, for another purpose or caller, or too old. */
    async open<T>(purpose: Purpose, caller: string, sealed: string, schema: z.ZodType<T>): Promise<T | undefined> {
      const opened = await unsealed(purpose, sealed, schema, caller);
      return typeof opened === "object" ? opened.value : undefined;
    },

    /** The same of whoever brings it: it says for whom it was sealed. "late": it was ours, and its time is over. */
    redeem: <T>(purpose: Purpose, sealed: string, schema: z.ZodType<T>): Promise<Opened<T> | "late" | undefined> =>
      unsealed(purpose, sealed, schema),
  };
}
