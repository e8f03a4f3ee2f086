// Loads a file of ours with V8's code cache: parsing and compiling are most of the time that loading takes.
// The cache is code that will be executed. So it lies in a folder of the user's own, and what another user could have written
// is not read. Whatever is wrong with it, the file is loaded without.

import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";

/** The platform's folder for what can be made anew. */
function cacheFolder(): string {
  if (process.platform === "darwin") return join(homedir(), "Library", "Caches", "mic-mcp");
  if (process.platform === "win32")
    return join(process.env["LOCALAPPDATA"] ?? join(homedir(), "AppData", "Local"), "mic-mcp", "cache");
  return join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "mic-mcp");
}

/** On Windows the profile's own access list does this. */
const isOurs = ({ uid, mode }: { uid: number; mode: number }, others: number): boolean =>
  process.platform === "win32" || (uid === process.getuid?.() && (mode & others) === 0);

/** V8 would run damaged code: it looks at the header alone. */
const checksum = (code: Buffer): Buffer => createHash("sha256").update(code).digest();
const CHECKSUM_BYTES = 32;

function readCache(path: string): Buffer | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    const facts = fstatSync(file);
    if (!facts.isFile() || !isOurs(facts, 0o077)) return undefined;
    const bytes = readFileSync(file);
    const code = bytes.subarray(CHECKSUM_BYTES);
    return checksum(code).equals(bytes.subarray(0, CHECKSUM_BYTES)) ? code : undefined;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Of versions that are gone. */
const KEPT_MS = 30 * 86_400_000;

function forgetOld(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (statSync(path).mtimeMs < Date.now() - KEPT_MS) unlinkSync(path);
  }
}

function writeCache(folder: string, path: string, script: Script): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const facts = lstatSync(folder);
    if (!facts.isDirectory() || !isOurs(facts, 0o077)) return;
    // Whole or not at all, however many processes end at once.
    const draft = `${path}.${process.pid}`;
    const code = script.createCachedData();
    writeFileSync(draft, Buffer.concat([checksum(code), code]), { mode: 0o600, flag: "wx" });
    renameSync(draft, path);
    forgetOld(folder);
  } catch {
    // A full disk, a read-only home: the next start takes as long as this one did.
  }
}

/** What a CommonJS file beside this one exports. `hash` is of its content: V8 itself would only look at its length. */
export function loadCached(name: string, hash: string): unknown {
  const file = fileURLToPath(new URL(name, import.meta.url));
  const folder = cacheFolder();
  const path = join(folder, `${hash}-${process.version}-${process.arch}.bin`);
  const cachedData = process.env["NODE_DISABLE_COMPILE_CACHE"] ? undefined : readCache(path);
  const source = `(function(exports,require,module,__filename,__dirname){${readFileSync(file, "utf8")}\n})`;
  const script = new Script(source, { filename: file, ...(cachedData && { cachedData }) });
  const hasCache = cachedData !== undefined && script.cachedDataRejected === false;
  // At the end, when all that a session needs has been compiled.
  if (!hasCache && !process.env["NODE_DISABLE_COMPILE_CACHE"])
    process.once("exit", () => writeCache(folder, path, script));
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(file), module, file, join(file, ".."));
  return module.exports;
}
