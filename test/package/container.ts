// Emulates the image of container/Dockerfile without a container runtime. It executes the steps in a folder, and runs the folder
// as a read-only root with the image's user. Node and its libraries replace the base image.
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isInstalled, nodeOf } from "../interop/packages.ts";
import type { Command } from "./drive.ts";

/** The uid of the user `node` in the official Node images. */
const NODE_USER = 1000;

function missingReason(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "needs root on Linux";
  if (!isInstalled("Node 22")) return "Node 22 was not installed by npm run interop:install";
  try {
    execFileSync("unshare", ["--mount", "true"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "this machine allows no mount namespace";
  }
}

export const containerMissing = missingReason();

/** Copies node and its shared libraries to the same paths as in the base image. */
function copyNode(image: string): void {
  const node = nodeOf("Node 22");
  cpSync(node, join(image, "usr", "local", "bin", "node"));
  chmodSync(join(image, "usr", "local", "bin", "node"), 0o755);
  const linked = execFileSync("ldd", [node], { encoding: "utf8" });
  for (const [, path = ""] of linked.matchAll(/(?:=> )?(\/\S+) \(0x/g))
    cpSync(path, join(image, path), { dereference: true });
}

/** The instructions, with continued lines joined. */
const parseInstructions = (dockerfile: string): readonly (readonly [string, string])[] =>
  dockerfile
    .replaceAll(/^#.*$/gm, "")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .flatMap((line) => {
      const [, name = "", rest = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
      return name === "" ? [] : [[name, rest] as const];
    });

/** Creates the image's files in `image`. Returns the command that runs its entry point; append the arguments for it. */
export async function runContainer(context: string, image: string): Promise<Command> {
  copyNode(image);
  for (const path of ["proc", "tmp", "dev", "bin"]) mkdirSync(join(image, path), { recursive: true });
  const env: Record<string, string> = {};
  let entry: readonly string[] = [];
  let user = "root";
  const volumes: string[] = [];
  for (const [name, rest] of parseInstructions(readFileSync(join(context, "Dockerfile"), "utf8")))
    switch (name) {
      case "COPY": {
        const [from = "", to = ""] = rest.split(" ");
        mkdirSync(dirname(join(image, to)), { recursive: true });
        cpSync(join(context, from), join(image, to), { recursive: true });
        break;
      }
      case "RUN": {
        const folders = /^mkdir -p (.+?) && chown node:node/.exec(rest)?.[1]?.split(" ") ?? [];
        if (folders.length === 0) throw new Error(`a step that is not made here: ${rest}`);
        for (const folder of folders) {
          mkdirSync(join(image, folder), { recursive: true });
          chownSync(join(image, folder), NODE_USER, NODE_USER);
        }
        break;
      }
      case "ENV":
        for (const pair of rest.split(" ")) env[pair.slice(0, pair.indexOf("="))] = pair.slice(pair.indexOf("=") + 1);
        break;
      case "VOLUME":
        volumes.push(...JSON.parse(rest));
        break;
      case "USER":
        user = rest;
        break;
      case "ENTRYPOINT":
        entry = JSON.parse(rest);
        break;
    }
  if (user !== "node") throw new Error(`the image runs as ${user}`);
  for (const volume of volumes) if (!existsSync(join(image, volume))) throw new Error(`no folder for ${volume}`);
  const mounts = volumes.map((volume) => {
    const at = join(image, volume);
    return `mount -t tmpfs -o uid=${NODE_USER} none ${at}`;
  });
  const script = join(dirname(image), "run-image.sh");
  writeFileSync(
    script,
    [
      "set -e",
      `mount --bind ${image} ${image}`,
      `mount -o remount,ro,bind ${image}`,
      ...mounts,
      `mount -t proc none ${image}/proc`,
      `exec chroot --userspec=${NODE_USER}:${NODE_USER} ${image} /usr/local/bin/"$@"`,
    ].join("\n"),
  );
  return { command: "unshare", args: ["--mount", "sh", script, ...entry], env };
}
