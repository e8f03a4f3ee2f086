// Derives ids and hashes from the seed: the same seed gives the same ids in the same order.
import { hash } from "node:crypto";

export const sha256 = (data: string | Uint8Array): string => hash("sha256", data);

export type IdGenerator = ReturnType<typeof createIdGenerator>;

export function createIdGenerator(seed: string) {
  const counts = new Map<string, number>();
  return {
    next(prefix: string): string {
      const count = counts.get(prefix) ?? 0;
      counts.set(prefix, count + 1);
      return prefix + sha256(`${seed}\n${prefix}\n${count}`).slice(0, 32);
    },
    hashFor: (name: string): string => sha256(`${seed}\n${name}`),
  };
}
