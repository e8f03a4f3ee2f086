// Decides the command with which a client starts this server, so that the entry survives upgrades of Node.
import { posix, win32 } from "node:path";
import { version } from "./version.ts";

interface Facts {
  readonly platform: NodeJS.Platform;
  readonly environment: NodeJS.ProcessEnv;
  readonly execPath: string;
  readonly programFile: string;
  readonly realpath: (path: string) => Promise<string>;
}

/** Homebrew, nvm, fnm, Volta, asdf and mise put each version of Node into a folder of its own; fnm links to it from a folder of the shell. */
const isOfOneVersion = (path: string): boolean => /[\\/]([^\\/]*\d+\.\d+\.\d+[^\\/]*|fnm_multishells)[\\/]/.test(path);

/** Programs of Volta, asdf and mise that start the selected version of Node. */
const isShim = (path: string): boolean => /[\\/](\.?volta[\\/]bin|shims)[\\/]node(\.exe)?$/i.test(path);

async function findStableNode({ platform, environment, execPath, realpath }: Facts): Promise<string> {
  const real = await realpath(execPath);
  if (!isOfOneVersion(execPath)) return execPath;
  const { join, delimiter } = platform === "win32" ? win32 : posix;
  const fnm = environment["FNM_DIR"];
  const folders = [
    ...(environment["PATH"] ?? environment["Path"] ?? "").split(delimiter),
    // The version that the user selected with `fnm default`.
    ...(fnm ? [join(fnm, "aliases", "default", platform === "win32" ? "" : "bin")] : []),
  ];
  for (const folder of folders) {
    const path = join(folder, platform === "win32" ? "node.exe" : "node");
    if (!(platform === "win32" ? win32 : posix).isAbsolute(path) || isOfOneVersion(path)) continue;
    const target = await realpath(path).catch(() => undefined);
    if (target === real || (target !== undefined && isShim(path))) return path;
  }
  return real;
}

/** `flags`: the flags of `serve`. `versionFolder`: the folder that an upgrade of Node may remove. */
export async function decideLaunch(facts: Facts, flags: readonly string[]) {
  const { platform, programFile } = facts;
  // npm may delete its cache of programs that npx runs.
  if (/[\\/]_npx[\\/]/.test(programFile)) {
    const args = ["-y", `mic-mcp@${version}`, "serve", ...flags];
    // npx is a script on Windows, which most clients cannot start.
    return platform === "win32" ? { command: "cmd", args: ["/c", "npx", ...args] } : { command: "npx", args };
  }
  const command = await findStableNode(facts);
  const versionFolder = [command, programFile].find(isOfOneVersion);
  return { command, args: [programFile, "serve", ...flags], versionFolder };
}
