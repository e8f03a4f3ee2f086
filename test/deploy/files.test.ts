// Tests the other files of deploy/ with their own checkers if installed, and their probes, grace periods and permissions.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";
import { readDeploymentVariables, readTeamsSettings } from "../../src/teams/settings.ts";
import { runInProcess as run } from "../support/command.ts";
import { missingProgram } from "../support/process.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { testUnless } from "../support/unless.ts";

const read = (path: string): string => readFileSync(join("deploy", path), "utf8");

/** Seconds that a call has after SIGTERM: MIC_DRAIN_DELAY_SECONDS (default 5 s) and 45 s. */
const NEEDED_SECONDS = 50;
const DRAIN_DELAY_SECONDS = 5;
const PORT = 8931;
/** The value of NODE_EXTRA_CA_CERTS in teams.env.example. */
const CA_FILE = "/etc/ssl/mic-mcp/ca.pem";

async function expectFlags(args: readonly string[]): Promise<void> {
  const { code, stderr } = await run([...args]);
  expect(code).toBe(2);
  expect(stderr).toContain("MIC_PUBLIC_URL is missing");
}

const unit = read("systemd/mic-mcp@.service");
const value = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1] ?? "";

testUnless(missingProgram("systemd-analyze"), "the systemd units pass systemd-analyze", async () => {
  const output = execFileSync("sh", ["-c", "systemd-analyze verify --man=no deploy/systemd/* 2>&1"], {
    encoding: "utf8",
  });
  expect(output.split("\n").filter((line) => line.includes("mic-mcp"))).toEqual([]);
});

test("the systemd unit starts an instance with its keys, and gives its calls enough time to end", async () => {
  expect(value("DynamicUser")).toBe("yes");
  // A core file would contain secrets.
  expect(value("LimitCORE")).toBe("0");
  expect(Number(value("TimeoutStopSec"))).toBeGreaterThan(NEEDED_SECONDS);
  const [credential = ""] = value("LoadCredential").split(":");
  // A unit for each port serves metrics on its own port.
  expect(unit).toContain("\nEnvironment=OTEL_EXPORTER_PROMETHEUS_PORT=1%i\n");
  // systemd.test.ts starts it.
  const [, keys, , ...args] = value("ExecStart").replace("%i", String(PORT)).split(" ");
  expect(keys).toBe(`MIC_SECRET_KEYS_FILE=%d/${credential}`);
  await expectFlags(args);
});

const labels = { "app.kubernetes.io/name": "mic-mcp" };
const documents = parseAllDocuments(read("kubernetes/mic-mcp.yaml")).map((each) => each.toJS());
const [deployment, budget, kubernetesService, networkPolicy, route] = documents;
const pod = deployment.spec.template.spec;
const [container] = pod.containers;

test("the Kubernetes manifests start at least two hardened instances with their keys, and replace them one at a time", async () => {
  expect(deployment.spec).toMatchObject({
    selector: { matchLabels: labels },
    strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    template: { metadata: { labels }, spec: { securityContext: { runAsNonRoot: true } } },
  });
  expect(budget.spec).toEqual({ maxUnavailable: 1, selector: { matchLabels: labels } });
  expect(kubernetesService.spec).toMatchObject({ selector: labels, ports: [{ targetPort: "http" }] });
  expect(deployment.spec.replicas).toBeGreaterThanOrEqual(2);
  expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(NEEDED_SECONDS);
  const securityContext = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true };
  expect(container).toMatchObject({ ports: [{ name: "http", containerPort: PORT }, {}], securityContext });
  expect(container.securityContext.capabilities).toEqual({ drop: ["ALL"] });
  await expectFlags(container.args);
  expect(container.args.at(container.args.indexOf("--port") + 1)).toBe(String(PORT));
  const [mount, ca] = container.volumeMounts;
  expect(pod.volumes).toMatchObject([{ name: mount.name }, { name: ca.name, configMap: { optional: true } }]);
  expect(container.volumeMounts).toEqual([mount, ca].map((each) => ({ ...each, readOnly: true })));
  expect(`${ca.mountPath}/ca.pem`).toBe(CA_FILE);
  const file = expect.stringMatching(new RegExp(`^${mount.mountPath}/`));
  expect(container.env).toContainEqual({ name: "MIC_SECRET_KEYS_FILE", value: file });
});

test("the Kubernetes probes detect that an instance is not ready before it stops serving", () => {
  const { startupProbe, livenessProbe, readinessProbe } = container;
  const paths = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet);
  expect(paths).toEqual(["/healthz", "/healthz", "/readyz"].map((path) => ({ path, port: "http" })));
  expect(readinessProbe.periodSeconds * readinessProbe.failureThreshold).toBeLessThan(DRAIN_DELAY_SECONDS);
});

test("the Kubernetes route does not end streams, and does not expose the probes", () => {
  const [rule] = route.spec.rules;
  expect(rule.timeouts).toEqual({ request: "0s" });
  const paths = rule.matches.map(({ path }: { path: { value: string } }) => path.value);
  expect(paths).toEqual(["/mcp", "/downloads", "/.well-known"]);
  expect(rule.backendRefs).toEqual([
    { name: kubernetesService.metadata.name, port: kubernetesService.spec.ports[0].port },
  ]);
});

test("Prometheus scrapes the pods under the job name of the alerts, and only Prometheus reaches the metrics", () => {
  const { spec } = parse(read("kubernetes/monitoring.yaml"));
  expect(spec.selector.matchLabels).toEqual(labels);
  const podLabels: Readonly<Record<string, string>> = deployment.spec.template.metadata.labels;
  expect(read("prometheus/alerts.yaml")).toContain(`up{job="${podLabels[spec.jobLabel]}"}`);
  expect(parse(read("prometheus/prometheus.yaml")).scrape_configs[0].job_name).toBe(podLabels[spec.jobLabel]);
  const [{ port }] = spec.podMetricsEndpoints;
  expect(container.ports).toContainEqual({ name: port, containerPort: 9464 });
  expect(networkPolicy.spec.podSelector.matchLabels).toEqual(labels);
  const open = networkPolicy.spec.ingress.filter(({ from }: { from?: unknown }) => from === undefined);
  expect(open).toEqual([{ ports: [{ port: "http" }] }]);
});

const { services, secrets } = parse(read("compose/compose.yaml"), { merge: true });
const { one, two, balancer } = services;

test("the compose file starts two instances at the balancer's addresses, with their keys and enough time for calls to end", async () => {
  const haproxy = read("haproxy/haproxy.cfg");
  for (const instance of [one, two]) {
    const { networks, command, environment, stop_grace_period: grace } = instance;
    expect(haproxy).toContain(` ${networks.inside.ipv4_address}:${PORT}\n`);
    expect(environment["MIC_TRUST_PROXY"]).toBe(balancer.networks.inside.ipv4_address);
    await expectFlags(command);
    expect(Number(/^(\d+)s$/.exec(grace)?.[1])).toBeGreaterThan(NEEDED_SECONDS);
    const [, name = ""] = /^\/run\/secrets\/(.+)$/.exec(environment["MIC_SECRET_KEYS_FILE"] ?? "") ?? [];
    expect(secrets).toHaveProperty(name);
    // A core file would contain secrets.
    expect(instance).toMatchObject({ read_only: true, ulimits: { core: 0 } });
    expect(instance.volumes).toEqual([`./tls:${dirname(CA_FILE)}:ro`]);
  }
  for (const server of [services.primary, services.replica]) expect(server.volumes).toBeInstanceOf(Array);
  expect(read("nginx/mic-mcp.conf")).toContain(`server ${one.networks.inside.ipv4_address}:${PORT} `);
});

const lines = read("teams.env.example").split("\n");
const parseLine = (line: string) => /^#?([A-Z][A-Z0-9_]+)=(.*)$/.exec(line) ?? [];
const entries = lines.map(parseLine).flatMap(([, name = "", value = ""]) => (name === "" ? [] : [[name, value]]));

test("teams.env.example has each variable of a deployment, and serve --teams accepts all values", async () => {
  const names: string[] = [];
  readDeploymentVariables((name) => void names.push(name), {});
  expect(entries.map(([name]) => name)).toEqual(expect.arrayContaining(names));
  const file = join(await folderForTest(), "secret-keys");
  writeFileSync(file, `one ${Buffer.alloc(32, 7).toString("base64")}\n`);
  expect(entries).toContainEqual(["NODE_EXTRA_CA_CERTS", CA_FILE]);
  const environment = { ...Object.fromEntries(entries), MIC_SECRET_KEYS_FILE: file, NODE_EXTRA_CA_CERTS: file };
  expect(readTeamsSettings(environment, "0.0.0.0").publicOrigin).toBe("https://mic.example.org");
});

const rules: readonly { alert: string; expr: string; annotations: { runbook_url: string } }[] = parse(
  read("prometheus/alerts.yaml"),
).groups[0].rules;
const panels: readonly { targets: readonly { expr: string }[] }[] = JSON.parse(read("grafana/mic-mcp.json")).panels;

test("each alert has a section in the runbook", () => {
  const runbook = readFileSync("docs/operate/runbook.md", "utf8");
  for (const { alert, annotations } of rules) {
    expect(runbook).toContain(`\n## ${alert}\n`);
    expect(annotations.runbook_url).toMatch(new RegExp(`/docs/operate/runbook\\.md#${alert.toLowerCase()}$`));
  }
});

test("each reason in the tables of the runbook is a text that the program prints", () => {
  const runbook = readFileSync("docs/operate/runbook.md", "utf8");
  const tables = [...runbook.matchAll(/^\| (?:reason|refusal) \|.*\n.*\n((?:\|.*\n)+)/gm)];
  const reasons = tables.flatMap(([, rows = ""]) =>
    [...rows.matchAll(/^\| `?(.*?)`? \|/gm)].map(([, reason = ""]) => reason),
  );
  expect(reasons.length).toBeGreaterThan(12);
  const sources = ["src/teams", "src/store"].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => readFileSync(join(folder, file), "utf8")),
  );
  // The code inserts numbers. PostgreSQL prints this reason: ../teams/full-disk.test.ts.
  const program = [...sources, "No space left on device"].join("\n").replaceAll(/\$\{[^}]*\}/g, "15");
  expect(reasons.filter((reason) => !program.includes(reason))).toEqual([]);
});

/** Metrics of the other programs that deploy/prometheus/prometheus.yaml scrapes: haproxy 2.6, node_exporter 1.5. */
const OTHER_METRICS = [
  ...["haproxy_backend_active_servers", "haproxy_backend_current_queue"],
  ...["node_filesystem_avail_bytes", "node_filesystem_size_bytes"],
  ...["node_systemd_timer_last_trigger_seconds", "node_systemd_unit_state"],
];

test("alerts and the dashboard use only metrics that exist", () => {
  const sources = ["otel.ts", "port.ts"].map((file) => readFileSync(join("src", "telemetry", file), "utf8")).join("");
  const namesIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = ""]) => name);
  const own = namesIn(sources, /"((?:mic|mcp|http|db)\.[a-z._]+)"/g).map((name) => name.replaceAll(".", "_"));
  const defined = [...own, ...OTHER_METRICS];
  const expressions = [...rules, ...panels.flatMap(({ targets }) => targets)].map(({ expr }) => expr).join("\n");
  const used = namesIn(expressions, /\b((?:mic|mcp|http|db|node|haproxy)_[a-z_]+?)(?:_(?:total|bucket|count))?\b/g);
  expect(used.length).toBeGreaterThan(20);
  expect(used.filter((name) => !defined.includes(name))).toEqual([]);
});

testUnless(missingProgram("promtool"), "promtool accepts the configuration and the alerts that it names", () => {
  const args = ["check", "config", "deploy/prometheus/prometheus.yaml"];
  expect(execFileSync("promtool", args, { encoding: "utf8" })).toMatch(/SUCCESS: \d+ rules found/);
});

const TIMER = 'node_systemd_timer_last_trigger_seconds{name="mic-mcp-';
testUnless(missingProgram("promtool"), "alerts about machines fire for the failure, and not before", async () => {
  const healthy = {
    'up{job="haproxy"}': 1,
    'haproxy_backend_active_servers{proxy="instances"}': 2,
    'haproxy_backend_current_queue{proxy="instances"}': 0,
    'node_systemd_unit_state{name="mic-mcp-backup.service",state="failed"}': 0,
    [`${TIMER}backup.timer"}`]: 360_000,
    [`${TIMER}check.timer"}`]: 360_000,
    'node_filesystem_avail_bytes{mountpoint="/",fstype="ext4"}': 20,
    'node_filesystem_size_bytes{mountpoint="/",fstype="ext4"}': 100,
  };
  const tests = Object.entries({
    MicBalancerDown: [{ 'up{job="haproxy"}': 0 }, { 'haproxy_backend_active_servers{proxy="instances"}': 0 }],
    MicCallsQueued: [{ 'haproxy_backend_current_queue{proxy="instances"}': 3 }],
    MicTaskFailed: [{ 'node_systemd_unit_state{name="mic-mcp-backup.service",state="failed"}': 1 }],
    MicTaskMissing: [{ [`${TIMER}backup.timer"}`]: 1 }, { [`${TIMER}check.timer"}`]: undefined }],
    MicDiskSpace: [{ 'node_filesystem_avail_bytes{mountpoint="/",fstype="ext4"}': 9 }],
  }).flatMap(([alertname, failures]) =>
    [{}, ...failures].map((failure, at) => ({
      interval: "1h",
      input_series: Object.entries({ ...healthy, ...failure }).flatMap(([series, sample]) =>
        sample === undefined ? [] : [{ series, values: `${sample}x120` }],
      ),
      promql_expr_test: [
        {
          expr: `count(ALERTS{alertname="${alertname}",alertstate="firing"}) or vector(0)`,
          eval_time: "110h",
          exp_samples: [{ labels: "{}", value: at === 0 ? 0 : 1 }],
        },
      ],
    })),
  );
  const path = join(await folderForTest(), "test.yaml");
  writeFileSync(
    path,
    stringify({ rule_files: [resolve("deploy/prometheus/alerts.yaml")], evaluation_interval: "1h", tests }),
  );
  execFileSync("promtool", ["test", "rules", path], { encoding: "utf8", stdio: "pipe" });
});
