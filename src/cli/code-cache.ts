// Keeps the code that V8 compiled for the parts of the program in the user's cache folder (docs/contribute/decisions/007-package-and-startup.md).
// Node's own compile cache lacks the functions that V8 compiles at their first call.
import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire, Module } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import { cacheFolder } from "../core/platform-folders.ts";

/** Time from loading a part until the code is saved: by then, V8 has compiled the functions that the next start needs. */
const SAVE_AFTER_MS = 2_000;
/** Number of files that are kept for each part, because other versions of the program or of Node may be in use. */
const KEPT_FILES = 4;
const CHECKSUM_BYTES = 32;
const [WRAPPER_START = ""] = Module.wrap("\n").split("\n");

function sha256(...contents: readonly (Buffer | string)[]): Buffer {
  const hash = createHash("sha256");
  for (const content of contents) hash.update(content);
  return hash.digest();
}

/** Cached code is executed, so the folder must belong to this user, must not be a link, and must not be writable by other users. */
function isPrivate(folder: string): boolean {
  // On Windows, the access control list of the user's profile protects the folder.
  if (process.getuid === undefined) return true;
  const { uid, mode } = lstatSync(folder);
  return uid === process.getuid() && (mode & 0o022) === 0;
}

/** V8 compares only the length of the text, so the name contains a hash of the text. */
function createFileName(part: string, text: Buffer): string {
  const flags = [...process.execArgv, process.env["NODE_OPTIONS"]].join(" ");
  return `${part}-${process.version}-${process.arch}-${sha256(text, flags).toString("hex")}.code`;
}

/** V8 does not detect damaged code and would crash, so the file is deleted unless its checksum matches. Returns undefined without a file. */
function readCode(file: string): Buffer | undefined {
  try {
    const bytes = readFileSync(file);
    const code = bytes.subarray(CHECKSUM_BYTES);
    if (sha256(code).equals(bytes.subarray(0, CHECKSUM_BYTES))) return code;
    rmSync(file);
  } catch {
    // The part is compiled instead.
  }
  return undefined;
}

/** Renames a temporary file, so that no process reads a part of it, and removes old files of the part, unfinished ones included. */
function writeCode(folder: string, part: string, name: string, code: Buffer): void {
  const temporary = join(folder, `${name}.${process.pid}`);
  try {
    writeFileSync(temporary, Buffer.concat([sha256(code), code]), { mode: 0o600 });
    renameSync(temporary, join(folder, name));
    const files = readdirSync(folder).filter((file) => file.startsWith(`${part}-v`) && file.includes(".code"));
    const written = files.map((file) => ({ file, ms: statSync(join(folder, file)).mtimeMs }));
    for (const { file } of written.sort((a, b) => b.ms - a.ms).slice(KEPT_FILES)) rmSync(join(folder, file));
  } catch {
    // The disk is full, the folder is read-only, or another process has removed a file.
  }
}

/** From now on, the parts of the built program are loaded with compiled code, unless the folder is unusable or Node's variables are set. */
export function enableCodeCache(environment: NodeJS.ProcessEnv): void {
  if (environment["NODE_COMPILE_CACHE"] || environment["NODE_DISABLE_COMPILE_CACHE"]) return;
  const folder = cacheFolder(environment);
  if (folder === undefined) return;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (!isPrivate(folder)) return;
  } catch {
    return;
  }
  const program = dirname(fileURLToPath(import.meta.url));
  const { extensions } = createRequire(import.meta.url);
  const loadOther = extensions[".js"];
  const saves: (() => void)[] = [];
  const saveAll = () => {
    for (const save of saves) save();
  };
  let timer: NodeJS.Timeout | undefined;

  extensions[".js"] = (module, filename) => {
    if (dirname(filename) !== program) return void loadOther(module, filename);
    const text = readFileSync(filename);
    const part = basename(filename, ".js");
    const name = createFileName(part, text);
    const cachedData = readCode(join(folder, name));
    // The build escapes all characters beyond ASCII.
    const wrapped = Module.wrap(text.toString("latin1"));
    const script = new Script(wrapped, { filename, columnOffset: -WRAPPER_START.length, cachedData });
    saves.push(() => writeCode(folder, part, name, script.createCachedData()));
    // The code of all parts is saved again, because the use of a new part has made V8 compile functions of the others.
    if (!cachedData || script.cachedDataRejected)
      timer = timer?.refresh() ?? setTimeout(saveAll, SAVE_AFTER_MS).unref();
    const run: (...wrapperArguments: readonly unknown[]) => void = script.runInThisContext();
    Reflect.apply(run, module.exports, [module.exports, createRequire(filename), module, filename, program]);
  };
}
