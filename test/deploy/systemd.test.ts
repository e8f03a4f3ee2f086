// Starts the units of deploy/systemd/ in a systemd of their own, as the first process of namespaces on a copy of this machine's files.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { emulatorForTest } from "../support/emulator.ts";
import { freeShortPort } from "../support/free-port.ts";
import { startIdentityProvider } from "../support/identity-provider.ts";
import { postgresMissing, startPostgres } from "../support/postgres.ts";
import { launchProcess } from "../support/process.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { testUnless } from "../support/unless.ts";

const SYSTEMD = "/lib/systemd/systemd";
const [, CGROUPS] = /^\S+ (\S+) cgroup2 /m.exec(readFileSync("/proc/mounts", "utf8")) ?? [];
const NAMESPACES = ["--mount", "--pid", "--uts", "--ipc", "--cgroup", "--fork", "--kill-child"];
function canBoot(): boolean {
  if (!existsSync(SYSTEMD) || CGROUPS === undefined) return false;
  const probe = join(CGROUPS, `mic-mcp-probe-${process.pid}`);
  return spawnSync("sh", ["-c", 'mkdir "$0" && rmdir "$0" && unshare "$@" true', probe, ...NAMESPACES]).status === 0;
}
const systemdMissing = canBoot() ? undefined : "needs root, namespaces and systemd";

/** The lowest user id that systemd gives to a unit with DynamicUser. */
const DYNAMIC_USERS = 61_184;
const TIMEOUT_MS = 60_000;

/** Arguments: a folder, and the unit to start. The folder `files` is copied to /, and the folder with the program is /opt/mic-mcp. */
const BOOT = `
set -e
folder=$1 root=$1/layers/root
mount -t tmpfs tmpfs "$folder/layers"
mkdir "$folder/layers/upper" "$folder/layers/work" "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/layers/upper,workdir=$folder/layers/work" "$root"
for path in run tmp root etc/systemd/system; do mount -t tmpfs -o mode=755 tmpfs "$root/$path"; done
mkdir -p "$root/opt/mic-mcp"
mount --bind "$PWD" "$root/opt/mic-mcp"
cp -r --preserve=mode "$folder/files/." "$root/"
: >"$root/etc/machine-id"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
cd "$root"
pivot_root . mnt
umount -l /mnt
mount --make-rshared /
exec env -i container=other ${SYSTEMD} --unit="$2" --log-target=console --show-status=0
`;

/** Boots a machine with these files and the units of deploy/systemd/, which starts one unit. `files`: texts by their paths. */
async function boot(unit: string, files: Readonly<Record<string, string>>): Promise<void> {
  const folder = await folderForTest();
  const write = (path: string, text: string, mode: number): void => {
    mkdirSync(join(folder, "files", path, ".."), { recursive: true });
    writeFileSync(join(folder, "files", path), text, { mode });
  };
  for (const name of readdirSync("deploy/systemd"))
    write(`etc/systemd/system/${name}`, readFileSync(join("deploy/systemd", name), "utf8"), 0o644);
  for (const [path, text] of Object.entries(files)) write(path, text, 0o600);
  write("usr/local/bin/mic-mcp", `#!/bin/sh\nexec ${process.execPath} /opt/mic-mcp/dist/cli.js "$@"\n`, 0o755);
  mkdirSync(join(folder, "layers"));
  const group = join(CGROUPS ?? "", `mic-mcp-${basename(folder)}`);
  mkdirSync(group);
  onTestFinished(() => void spawnSync("find", [group, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"]));
  const script = `echo $$ >${group}/cgroup.procs && exec unshare ${NAMESPACES.join(" ")} bash -c "$0" boot "$@"`;
  const machine = launchProcess(["bash", "-c", script, BOOT, folder, unit], { isWrapped: true });
  onTestFinished(() => machine.kill());
}

/** The process whose command line matches. */
const findProcess = (pattern: string): string =>
  spawnSync("pgrep", ["--full", pattern], { encoding: "utf8" }).stdout.trim();

testUnless(
  systemdMissing ?? postgresMissing,
  "an instance of the systemd unit becomes ready as another user, with the settings and keys that only root can read",
  async () => {
    const postgres = await startPostgres();
    onTestFinished(() => postgres.stop());
    const provider = await startIdentityProvider();
    onTestFinished(() => provider.stop());
    const emulator = await emulatorForTest({ clients: 1 });
    const port = await freeShortPort(8941);
    await boot(`mic-mcp@${port}.service`, {
      "etc/mic-mcp/secret-keys": `one ${Buffer.alloc(32, 7).toString("base64")}\n`,
      // The path of the page, which the service cannot read.
      "etc/mic-mcp/teams.env": `MIC_PUBLIC_URL=https://mic.example.org
MIC_AUTH_ISSUER=${provider.issuer}
MIC_DATABASE_URL=${await postgres.createDatabase()}
MIC_DATABASE_DURABILITY=local
MIC_SECRET_KEYS_FILE=/etc/mic-mcp/secret-keys
MIC_BASE_URL=${emulator.baseUrl}
MIC_TRUST_PROXY=127.0.0.1
`,
    });
    const read = () => fetch(`http://127.0.0.1:${port}/readyz`).then((response) => response.text(), String);
    await expect.poll(read, { timeout: TIMEOUT_MS }).toContain('"status":"ok"');
    const pid = findProcess(`serve --teams --host 0.0.0.0 --port ${port}$`);
    expect(statSync(`/proc/${pid}`).uid).toBeGreaterThanOrEqual(DYNAMIC_USERS);
  },
  2 * TIMEOUT_MS,
);

testUnless(
  systemdMissing ?? postgresMissing,
  "the units of a backup machine receive the WAL and make a base backup",
  async () => {
    const postgres = await startPostgres();
    onTestFinished(() => postgres.stop());
    const { port } = new URL(await postgres.createDatabase());
    await boot("mic-mcp-backup.service", {
      "etc/mic-mcp/backup.env": `PGHOST=127.0.0.1\nPGPORT=${port}\nPGUSER=mic\n`,
      "etc/systemd/system/mic-mcp-backup.service.d/wal.conf":
        "[Unit]\nRequires=mic-mcp-wal.service\nAfter=mic-mcp-wal.service\n",
    });
    const list = () => {
      const files = `/proc/${findProcess("pg_receivewal --directory=/var/lib/mic-mcp-backup/wal")}/root/var/lib/mic-mcp-backup`;
      return existsSync(files) ? readdirSync(files, { recursive: true, encoding: "utf8" }).join("\n") : "";
    };
    await expect.poll(list, { timeout: TIMEOUT_MS }).toMatch(/^base-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\/base\.tar\.gz$/m);
    expect(list()).toMatch(/^wal\/\w{24}$/m);
  },
  2 * TIMEOUT_MS,
);
