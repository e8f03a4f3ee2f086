// Emulates the image of container/Dockerfile without a container runtime. It executes the steps in a folder, and runs the folder
// as the read-only lower layer of an overlay with the image's user. Node and its libraries replace the base image.
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isInstalled, nodeOf } from "../interop/packages.ts";
import type { Command } from "./drive.ts";

/** The uid of the user `node` in the official Node images. */
const NODE_USER = 1000;

function missingReason(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "needs root on Linux";
  if (!isInstalled("Node 24")) return "Node 24 was not installed by npm run interop:install";
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
  const node = nodeOf("Node 24");
  cpSync(node, join(image, "usr", "local", "bin", "node"));
  chmodSync(join(image, "usr", "local", "bin", "node"), 0o755);
  const linked = execFileSync("ldd", [node], { encoding: "utf8" });
  for (const [, path = ""] of linked.matchAll(/(?:=> )?(\/\S+) \(0x/g))
    cpSync(path, join(image, path), { dereference: true });
}

const parseInstructions = (dockerfile: string): readonly (readonly [string, string])[] =>
  dockerfile
    .replaceAll(/^#.*$/gm, "")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .flatMap((line) => {
      const [, name = "", rest = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
      return name === "" ? [] : [[name, rest] as const];
    });

/** Creates the image's files in `image`. Returns a function that returns the command of a container with this volume. */
export async function buildImage(context: string, image: string): Promise<(volume: string) => Command> {
  copyNode(image);
  for (const path of ["proc", "tmp", "bin"]) mkdirSync(join(image, path), { recursive: true });
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
  const folder = dirname(image);
  return (volume) => {
    // Docker names the folder of a volume so.
    const data = join(folder, "volumes", volume, "_data");
    for (const each of volumes) cpSync(join(image, each), data, { recursive: true });
    execFileSync("chown", ["-R", `${NODE_USER}:${NODE_USER}`, data]);
    const root = join(folder, "root");
    mkdirSync(root, { recursive: true });
    const script = join(folder, `run-${volume}.sh`);
    writeFileSync(
      script,
      [
        "set -e",
        `mount -t tmpfs none ${root}`,
        `mkdir ${root}/upper ${root}/work ${root}/merged`,
        `mount -t overlay overlay -o ro,lowerdir=${image},upperdir=${root}/upper,workdir=${root}/work ${root}/merged`,
        ...volumes.map((each) => `mount --bind ${data} ${root}/merged${each}`),
        `mount -t proc none ${root}/merged/proc`,
        `exec chroot --userspec=${NODE_USER}:${NODE_USER} ${root}/merged /usr/local/bin/"$@"`,
      ].join("\n"),
    );
    return { command: "unshare", args: ["--mount", "sh", script, ...entry], env };
  };
}
