// Writes the key files of deployments, which are deleted when the process of the tests ends.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "../../src/core/once.ts";

const createFolder = once(() => {
  const folder = mkdtempSync(join(tmpdir(), "mic-mcp-keys-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
});

let count = 0;

/** Returns the path of a new file with these lines. */
export function writeKeyFile(text: string): string {
  count += 1;
  const path = join(createFolder(), `keys-${count}`);
  writeFileSync(path, `${text}\n`, { mode: 0o600 });
  return path;
}
