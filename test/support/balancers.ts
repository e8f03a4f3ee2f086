// Starts the installed haproxy and nginx with the files of deploy/; only addresses, ports and TLS settings differ.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { launchProcess, missingProgram, type RunningProcess, waitForPort } from "./process.ts";

export const haproxyMissing = missingProgram("haproxy");
export const nginxMissing = missingProgram("nginx");

function replaceOnce(text: string, pattern: RegExp, by: string): string {
  const places = text.match(new RegExp(pattern, `${pattern.flags}g`))?.length ?? 0;
  if (places !== 1) throw new Error(`${pattern} is there ${places} times`);
  return text.replace(pattern, (found) => by.replace("$&", () => found));
}

const hostOf = (url: string): string => new URL(url).host;

/** deploy/haproxy/haproxy.cfg in front of these instances. */
export function renderHaproxyConfig(port: number, instances: readonly string[]): string {
  const file = readFileSync("deploy/haproxy/haproxy.cfg", "utf8");
  const bound = replaceOnce(file, /^ {4}bind :443 .*$/m, `    bind 127.0.0.1:${port}`);
  // Tests run at the same time, and the port of the metrics is fixed.
  const withoutMetrics = replaceOnce(bound, /\n# Metrics for Prometheus[\s\S]*$/, "");
  const plain = replaceOnce(withoutMetrics, /X-Forwarded-Proto https$/m, "X-Forwarded-Proto http");
  // Each group of servers becomes one line for each instance, like the last line of the group.
  return plain.replace(/(?:^ {4}server (\S+) \S+(.*)\n)+/gm, (_, name: string, options: string) =>
    instances
      .map((url, at) => `    server ${name} ${hostOf(url)}${options}\n`.replaceAll("two", `instance${at + 1}`))
      .join(""),
  );
}

/** deploy/nginx/mic-mcp.conf in front of these instances, as a complete configuration in a folder. */
export function renderNginxConfig(port: number, instances: readonly string[], folder: string): string {
  const file = readFileSync("deploy/nginx/mic-mcp.conf", "utf8");
  const servers = instances.map((url) => `    server ${hostOf(url)} max_fails=1 fail_timeout=2s;\n`).join("");
  const bound = replaceOnce(file, /listen 443 ssl;/, `listen 127.0.0.1:${port};`);
  const bare = replaceOnce(bound, /(?:^ {4}ssl_certificate.*\n)+/m, "");
  const plain = replaceOnce(bare, /X-Forwarded-Proto https;/, "X-Forwarded-Proto http;");
  const logged = replaceOnce(plain, /\/var\/log\/nginx\/mic-mcp\.log/, join(folder, "access.log"));
  const site = replaceOnce(logged, /(?:^ {4}server 10\..*\n)+/m, servers);
  const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join("\n");
  return `daemon off;\nmaster_process off;\npid ${join(folder, "pid")};\nerror_log stderr warn;\nevents {}\nhttp {\n${folders}\n${site}}\n`;
}

async function startBalancer(command: readonly string[], port: number, folder: string, log: () => string = () => "") {
  let running: RunningProcess | undefined;
  let previousOutput = "";
  const start = async (): Promise<void> => {
    running = launchProcess(command, { cwd: folder });
    await waitForPort(port, running);
  };
  const kill = async (): Promise<void> => {
    await running?.kill();
    previousOutput += running?.output() ?? "";
    running = undefined;
  };
  await start();
  return {
    url: `http://127.0.0.1:${port}`,
    /** Breaks off all connections through it. `start` starts it again on the same port. */
    kill,
    start,
    output: () => previousOutput + (running?.output() ?? "") + log(),
    async stop() {
      // An orderly shutdown, as an operator would do it.
      await running?.kill("SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** `port`: default any free one. `authorization`: the header that it adds to requests without one. */
export async function startHaproxy(
  instances: readonly string[],
  { port, authorization }: { readonly port?: number; readonly authorization?: string } = {},
) {
  const at = port ?? (await freePort());
  const folder = mkdtempSync(join(tmpdir(), "mic-mcp-haproxy-"));
  const path = join(folder, "haproxy.cfg");
  const added = `    http-request set-header Authorization "${authorization}" if !{ req.hdr(Authorization) -m found }\n`;
  const file = renderHaproxyConfig(at, instances);
  writeFileSync(
    path,
    authorization === undefined ? file : replaceOnce(file, /^ {4}default_backend .*\n/m, `${added}$&`),
  );
  return startBalancer(["haproxy", "-db", "-f", path], at, folder);
}

export async function startNginx(instances: readonly string[]) {
  const at = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "mic-mcp-nginx-"));
  const path = join(folder, "nginx.conf");
  // If root starts nginx, workers of another user could not write to its folder.
  const user = process.getuid?.() === 0 ? "user root;\n" : "";
  writeFileSync(path, user + renderNginxConfig(at, instances, folder));
  return startBalancer(["nginx", "-p", folder, "-c", path], at, folder, () =>
    readFileSync(join(folder, "access.log"), "utf8"),
  );
}
