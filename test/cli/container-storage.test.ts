// Tests which folders are deleted with a container, by the mounts of Docker and Podman (test/package/release.test.ts uses real mounts).
import { expect, test } from "vitest";
import { isDeletedWithContainer } from "../../src/cli/container-storage.ts";

const OVERLAY = "1 0 0:1 / / rw - overlay overlay rw,lowerdir=/l";
const DISK = "1 0 8:1 / / rw - ext4 /dev/sda1 rw";
const ANONYMOUS = "0123456789abcdef".repeat(4);
const volume = (name: string, at = "/data") =>
  `2 1 8:1 /var/lib/docker/volumes/${name}/_data ${at} rw - ext4 /dev/sda1 rw`;

test.each<readonly [string, boolean, readonly string[], string]>([
  ["a folder in the container's own layer", true, [OVERLAY], "/data/state"],
  ["an anonymous volume", true, [OVERLAY, volume(ANONYMOUS)], "/data/state"],
  ["a folder in memory", true, [OVERLAY, "2 1 0:2 / /data rw - tmpfs tmpfs rw"], "/data/state"],
  ["a folder beside the volume", true, [OVERLAY, volume("mic-mcp-data")], "/database"],
  ["a named volume", false, [OVERLAY, volume("mic-mcp-data")], "/data/state"],
  ["a named volume on a path with a space", false, [OVERLAY, volume("mic-mcp-data", "/my\\040data")], "/my data/state"],
  ["a named volume that hides an anonymous one", false, [OVERLAY, volume(ANONYMOUS), volume("mic-mcp-data")], "/data"],
  ["a folder of the host", false, [OVERLAY, "2 1 8:1 /home/user/data /data rw - ext4 /dev/sda1 rw"], "/data/state"],
  ["a machine without a container", false, [DISK, "2 1 0:2 / /tmp rw - tmpfs tmpfs rw"], "/tmp/state"],
  ["a system without /proc", false, [], "/data"],
])("for %s, the state folder is deleted with the container: %s", (_, isDeleted, mounts, folder) => {
  expect(isDeletedWithContainer(folder, `${mounts.join("\n")}\n`)).toBe(isDeleted);
});
