// Detects a journal on storage that is deleted with its container.

import { readFileSync } from "node:fs";
import type { Config } from "../core/config.ts";
import { homeFolder } from "../core/platform-folders.ts";
import { ask, raw, say, type Text } from "../core/text.ts";

interface Mount {
  /** The mounted folder in its own file system. */
  readonly root: string;
  readonly mountPoint: string;
  readonly type: string;
}

/** Spaces in paths are escaped as \040. */
const decodePath = (path: string): string =>
  path.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));

/** Parses a line of /proc/self/mountinfo (man 5 proc). */
function parseMount(line: string): Mount {
  const [own = "", fileSystem = ""] = line.split(" - ");
  const [root = "", mountPoint = ""] = own.split(" ").slice(3);
  return { root: decodePath(root), mountPoint: decodePath(mountPoint), type: fileSystem.split(" ")[0] ?? "" };
}

const contains = ({ mountPoint }: Mount, path: string): boolean =>
  mountPoint === "/" || path === mountPoint || path.startsWith(`${mountPoint}/`);

/** Whether a folder is in a container's layer, in memory, or in an anonymous volume (named by 64 hexadecimal digits). */
export function isDeletedWithContainer(folder: string, mountInfo: string): boolean {
  const mounts = mountInfo.trim().split("\n").map(parseMount);
  const isContainer = mounts.some(({ mountPoint, type }) => mountPoint === "/" && /overlay/.test(type));
  // A later mount hides an earlier one of the same folder.
  const [mount] = mounts
    .filter((each) => contains(each, folder))
    .reverse()
    .sort((one, other) => other.mountPoint.length - one.mountPoint.length);
  if (!isContainer || mount === undefined) return false;
  return mount.mountPoint === "/" || mount.type === "tmpfs" || /\/volumes\/[0-9a-f]{64}\/_data$/.test(mount.root);
}

const readMountInfo = (): string => {
  try {
    return readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    return "";
  }
};

/** The home folder of the image contains the downloaded files, too. */
const formatVolume = (stateDir: string): string => `-v mic-mcp-data:${homeFolder(process.env) ?? stateDir}`;

export const volumeAdvice = ({ stateDir }: Config): string =>
  `Start the container with a named volume: docker run ${formatVolume(stateDir)} …`;

/** Returns a text for the log and for results about actions; undefined if the journal outlives the process's container, if any. */
export function createContainerNotice({ emulator, journalUrl, stateDir }: Config): Text | undefined {
  if (emulator || journalUrl !== undefined || !isDeletedWithContainer(stateDir, readMountInfo())) return undefined;
  return say`The journal is deleted with this container, and then a repeated action can run again. ${ask("Start")} the container with a named volume (${raw(formatVolume(stateDir))}).`;
}
