// `mic-mcp teams rewrap`: puts every sealed secret under the first key, while instances go on: each of them opens by any key.
import { SealBroken } from "../keys/encryption.ts";
import type { Bench } from "./bench.ts";

export async function rewrapTeams({ teams, secrets, firstKey, changed, say }: Bench): Promise<number> {
  const counts = { put: 0, kept: 0, files: 0 };
  const broken: string[] = [];
  for (const { name, secret } of await teams.list()) {
    if ("file" in secret) {
      counts.files += 1;
      continue;
    }
    try {
      const sealed = await secrets.resealed(name, secret.sealed);
      // One that was rotated meanwhile is under the first key as well.
      const isPut = sealed !== undefined && (await teams.reseal(name, secret.sealed, sealed));
      counts[isPut ? "put" : "kept"] += 1;
      if (isPut) changed(name, "secret rewrapped");
    } catch (error) {
      if (!(error instanceof SealBroken)) throw error;
      broken.push(`${name}: ${error.message}. mic-mcp teams rotate ${name} mends it.`);
    }
  }
  say(
    `Under the key ${firstKey}: ${counts.put} put there now, ${counts.kept} before; in files: ${counts.files}; not to be opened: ${broken.length}.`,
  );
  for (const line of broken) say(line);
  return broken.length === 0 ? 0 : 1;
}
