// The keys of a deployment for teams, MIC_SECRET_KEYS: the first seals, all of them open. Each use has a key of its own, derived from them.
import { hkdfSync } from "node:crypto";

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
