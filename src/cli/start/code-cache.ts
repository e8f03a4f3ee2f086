// Keeps the program as V8 has compiled it: parsing and compiling are most of the time that loading takes. Node's own
// module.enableCompileCache keeps a quarter of it (docs/decisions/008-the-quick-start.md).
// What is kept is code that will be executed: it lies in the user's own folder, and what another could have written is not read.
import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { getHeapCodeStatistics } from "node:v8";
import { Script } from "node:vm";
import { cacheFolder } from "../../platform-folders.ts";

/** Of the program that it was made of, and of itself: V8 would run damaged code, or another program's of the same length. */
const seal = (program: string, code: Buffer): Buffer => createHash("sha256").update(program).update(code).digest();
const SEAL_BYTES = 32;

function read(path: string, program: string): Buffer | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    const { uid, mode } = fstatSync(file);
    // On Windows the profile's own access list does this.
    if (process.platform !== "win32" && (uid !== process.getuid?.() || (mode & 0o077) !== 0)) return undefined;
    const bytes = readFileSync(file);
    const code = bytes.subarray(SEAL_BYTES);
    return seal(program, code).equals(bytes.subarray(0, SEAL_BYTES)) ? code : undefined;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function keep(path: string, program: string, script: Script): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const code = script.createCachedData();
    // Whole or not at all, however many processes end at once.
    const draft = `${path}.${process.pid}`;
    writeFileSync(draft, Buffer.concat([seal(program, code), code]), { mode: 0o600, flag: "wx" });
    renameSync(draft, path);
  } catch {
    // A full disk, a read-only home: the next start takes as long as this one did.
  }
}

/** A process that does little compiles little; what it kept would stay a quarter of what a session needs. */
const MUCH_MORE = 2;
const isThin = (code: Buffer): boolean => getHeapCodeStatistics().bytecode_and_metadata_size > MUCH_MORE * code.length;

/** What a CommonJS file beside this one exports. `program`: a hash of its content. */
export function loadCached(name: string, program: string): unknown {
  const file = fileURLToPath(new URL(name, import.meta.url));
  // Node's own variable for it.
  const isOff = Boolean(process.env["NODE_DISABLE_COMPILE_CACHE"]);
  const path = join(cacheFolder(process.env), `main-${process.version}-${process.arch}.bin`);
  const cachedData = isOff ? undefined : read(path, program);
  const source = `(function(exports,require,module,__filename,__dirname){${readFileSync(file, "utf8")}\n})`;
  const script = new Script(source, { filename: file, ...(cachedData && { cachedData }) });
  // At the end, when all that a session needs has been compiled.
  const isOfNoUse = () => cachedData === undefined || script.cachedDataRejected === true || isThin(cachedData);
  if (!isOff) process.once("exit", () => isOfNoUse() && keep(path, program, script));
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(file), module, file, dirname(file));
  return module.exports;
}
