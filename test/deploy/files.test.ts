// Tests the other files of deploy/ with their own checkers if installed, and their settings for probes, grace periods and
// permissions.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import * as z from "zod/v4";
import { readDeploymentVariables, readTeamsSettings } from "../../src/teams/settings.ts";
import { runInProcess as run } from "../support/command.ts";
import { isInstalled } from "../support/process.ts";
import { folderForTest } from "../support/temporary-folder.ts";

const read = (path: string): string => readFileSync(join("deploy", path), "utf8");

/** Seconds that a call has after SIGTERM: MIC_DRAIN_DELAY_SECONDS (default 5 s) and 45 s. */
const NEEDED_SECONDS = 50;
const DRAIN_DELAY_SECONDS = 5;
const PORT = 8931;

/** Expects that `serve --teams` accepts these flags: its only errors are about missing variables. */
async function expectFlags(args: readonly string[]): Promise<void> {
  const { code, stderr } = await run([...args]);
  expect(code).toBe(2);
  expect(stderr).toContain("MIC_PUBLIC_URL is missing");
}

const systemdMissing = isInstalled("systemd-analyze") ? undefined : "systemd-analyze is not installed";

describe("the systemd unit", () => {
  const unit = read("systemd/mic-mcp@.service");
  const value = (name: string): string => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1] ?? "";

  test.skipIf(systemdMissing !== undefined)(
    `the systemd unit passes systemd-analyze${systemdMissing === undefined ? "" : ` (skipped: ${systemdMissing})`}`,
    async () => {
      const path = join(await folderForTest(), "mic-mcp@.service");
      // The program must exist.
      writeFileSync(path, unit.replace("/usr/bin/mic-mcp", process.execPath));
      const output = execFileSync("sh", ["-c", `systemd-analyze verify --man=no ${path} 2>&1`], { encoding: "utf8" });
      expect(output.split("\n").filter((line) => line.includes("mic-mcp"))).toEqual([]);
    },
  );

  test("the systemd unit starts an instance with its keys, and gives its calls enough time to end", async () => {
    expect(value("Type")).toBe("exec");
    expect(value("DynamicUser")).toBe("yes");
    expect(Number(value("TimeoutStopSec"))).toBeGreaterThan(NEEDED_SECONDS);
    const [credential = ""] = value("LoadCredential").split(":");
    expect(value("Environment")).toBe(`MIC_SECRET_KEYS_FILE=%d/${credential}`);
    // A unit for each port serves metrics on its own port.
    expect(unit).toContain("\nEnvironment=OTEL_EXPORTER_PROMETHEUS_PORT=1%i\n");
    const [, ...args] = value("ExecStart").replace("%i", String(PORT)).split(" ");
    await expectFlags(args);
  });

  test("the systemd unit does not allow core files, which would contain secrets", () => {
    expect(value("LimitCORE")).toBe("0");
  });
});

const Probe = z.object({
  httpGet: z.object({ path: z.string(), port: z.literal("http") }),
  periodSeconds: z.number(),
  failureThreshold: z.number(),
});
const Container = z.object({
  args: z.array(z.string()),
  ports: z.tuple([
    z.object({ name: z.literal("http"), containerPort: z.literal(PORT) }),
    z.object({ name: z.literal("metrics"), containerPort: z.literal(9464) }),
  ]),
  env: z.array(z.object({ name: z.string(), value: z.string() })),
  volumeMounts: z.tuple([z.object({ name: z.string(), mountPath: z.string(), readOnly: z.literal(true) })]),
  startupProbe: Probe,
  livenessProbe: Probe,
  readinessProbe: Probe,
  securityContext: z.object({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.object({ drop: z.tuple([z.literal("ALL")]) }),
  }),
});
const labels = z.object({ "app.kubernetes.io/name": z.literal("mic-mcp") });
const Deployment = z.object({
  kind: z.literal("Deployment"),
  spec: z.object({
    replicas: z.number().min(2),
    selector: z.object({ matchLabels: labels }),
    strategy: z.object({ rollingUpdate: z.object({ maxUnavailable: z.literal(0), maxSurge: z.literal(1) }) }),
    template: z.object({
      metadata: z.object({ labels }),
      spec: z.object({
        terminationGracePeriodSeconds: z.number().gt(NEEDED_SECONDS),
        securityContext: z.object({ runAsNonRoot: z.literal(true) }),
        containers: z.tuple([Container]),
        volumes: z.tuple([z.object({ name: z.string() })]),
      }),
    }),
  }),
});
const Budget = z.object({
  kind: z.literal("PodDisruptionBudget"),
  spec: z.object({ maxUnavailable: z.literal(1), selector: z.object({ matchLabels: labels }) }),
});
const Service = z.object({
  kind: z.literal("Service"),
  spec: z.object({ selector: labels, ports: z.tuple([z.object({ targetPort: z.literal("http") })]) }),
});
const Ingress = z.object({
  kind: z.literal("Ingress"),
  metadata: z.object({ annotations: z.record(z.string(), z.string()) }),
  spec: z.object({
    rules: z.tuple([z.object({ http: z.object({ paths: z.array(z.object({ path: z.string() })) }) })]),
  }),
});

describe("the Kubernetes manifests", () => {
  const documents = parseAllDocuments(read("kubernetes/mic-mcp.yaml")).map((each) => each.toJS());
  const [deployment, budget, service, ingress] = z.tuple([Deployment, Budget, Service, Ingress]).parse(documents);
  const { containers, volumes } = deployment.spec.template.spec;
  const [container] = containers;

  test("the Kubernetes manifests start an instance with its keys", async () => {
    await expectFlags(container.args);
    expect(container.args.at(container.args.indexOf("--port") + 1)).toBe(String(PORT));
    const values = new Map(container.env.map(({ name, value }) => [name, value]));
    const [mount] = container.volumeMounts;
    expect(values.get("MIC_SECRET_KEYS_FILE")?.startsWith(`${mount.mountPath}/`)).toBe(true);
    expect(volumes[0].name).toBe(mount.name);
    expect(budget.spec.selector).toEqual(deployment.spec.selector);
    expect(service.spec.selector).toEqual(deployment.spec.selector.matchLabels);
  });

  test("the Kubernetes probes detect that an instance is not ready before it stops serving", () => {
    const { startupProbe, livenessProbe, readinessProbe } = container;
    expect([startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.path)).toEqual([
      "/healthz",
      "/healthz",
      "/readyz",
    ]);
    expect(readinessProbe.periodSeconds * readinessProbe.failureThreshold).toBeLessThan(DRAIN_DELAY_SECONDS);
  });

  test("the Kubernetes ingress repeats no POST, does not buffer streams, and does not expose the probes", () => {
    const annotation = (name: string) => ingress.metadata.annotations[`nginx.ingress.kubernetes.io/${name}`];
    expect(annotation("proxy-next-upstream")).toBe("error");
    expect(annotation("proxy-buffering")).toBe("off");
    expect(Number(annotation("proxy-read-timeout"))).toBeGreaterThanOrEqual(75);
    expect(ingress.spec.rules[0].http.paths.map(({ path }) => path)).toEqual(["/mcp", "/downloads", "/.well-known"]);
  });
});

const ComposedInstance = z.object({
  command: z.array(z.string()),
  environment: z.record(z.string(), z.string()),
  stop_grace_period: z.string(),
  read_only: z.literal(true),
  /** A core file would contain secrets. */
  ulimits: z.object({ core: z.literal(0) }),
  networks: z.object({ inside: z.object({ ipv4_address: z.string() }) }),
});
const Composed = z.object({
  services: z.object({
    one: ComposedInstance,
    two: ComposedInstance,
    balancer: z.object({ networks: z.object({ inside: z.object({ ipv4_address: z.string() }) }) }),
    primary: z.looseObject({ volumes: z.array(z.string()) }),
    replica: z.looseObject({ volumes: z.array(z.string()) }),
  }),
  secrets: z.record(z.string(), z.object({ file: z.string() })),
});

describe("the compose file", () => {
  const { services, secrets } = Composed.parse(parse(read("compose/compose.yaml"), { merge: true }));
  const { one, two, balancer } = services;

  test("the compose file starts two instances at the balancer's addresses, and they trust only the balancer", async () => {
    const haproxy = read("haproxy/haproxy.cfg");
    for (const { networks, command, environment } of [one, two]) {
      expect(haproxy).toContain(` ${networks.inside.ipv4_address}:${PORT}\n`);
      expect(environment["MIC_TRUST_PROXY"]).toBe(balancer.networks.inside.ipv4_address);
      await expectFlags(command);
    }
    expect(read("nginx/mic-mcp.conf")).toContain(`server ${one.networks.inside.ipv4_address}:${PORT} `);
  });

  test("the compose file gives calls enough time to end, and instances their keys by a file", () => {
    for (const { stop_grace_period: grace, environment } of [one, two]) {
      expect(Number(/^(\d+)s$/.exec(grace)?.[1])).toBeGreaterThan(NEEDED_SECONDS);
      const [, name = ""] = /^\/run\/secrets\/(.+)$/.exec(environment["MIC_SECRET_KEYS_FILE"] ?? "") ?? [];
      expect(secrets).toHaveProperty(name);
    }
  });
});

describe("teams.env.example", () => {
  const lines = read("teams.env.example").split("\n");
  const parseLine = (line: string) => /^#?([A-Z][A-Z0-9_]+)=(.*)$/.exec(line) ?? [];
  const entries = lines.map(parseLine).flatMap(([, name = "", value = ""]) => (name === "" ? [] : [[name, value]]));

  test("teams.env.example has each variable of a deployment, and serve --teams accepts all values", async () => {
    const names: string[] = [];
    readDeploymentVariables((name) => void names.push(name));
    const own = names.filter((name) => name !== "MIC_SECRET_KEYS");
    expect(entries.map(([name]) => name)).toEqual(expect.arrayContaining(own));
    const file = join(await folderForTest(), "secret-keys");
    writeFileSync(file, `one ${Buffer.alloc(32, 7).toString("base64")}\n`);
    const environment = { ...Object.fromEntries(entries), MIC_SECRET_KEYS_FILE: file };
    expect(readTeamsSettings(environment, "0.0.0.0").publicOrigin).toBe("https://mic.example.org");
  });
});

const Rules = z.object({
  groups: z.tuple([
    z.object({
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          annotations: z.object({ summary: z.string(), runbook_url: z.string() }),
        }),
      ),
    }),
  ]),
});
const Dashboard = z.object({
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) })),
});

describe("monitoring files", () => {
  const [{ rules }] = Rules.parse(parse(read("prometheus/alerts.yaml"))).groups;
  const { panels } = Dashboard.parse(JSON.parse(read("grafana/mic-mcp.json")));

  test("each alert has a section in the runbook", () => {
    const runbook = readFileSync("docs/operate/runbook.md", "utf8");
    for (const { alert, annotations } of rules) {
      expect(runbook).toContain(`\n## ${alert}\n`);
      expect(annotations.runbook_url).toMatch(new RegExp(`/docs/operate/runbook\\.md#${alert.toLowerCase()}$`));
    }
  });

  test("alerts and the dashboard use only metrics that exist", () => {
    const sources = ["otel.ts", "port.ts"].map((file) => readFileSync(join("src", "telemetry", file), "utf8")).join("");
    const defined = [...sources.matchAll(/"((?:mic|mcp|http|db)\.[a-z._]+)"/g)].map(([, name = ""]) =>
      name.replaceAll(".", "_"),
    );
    const expressions = [
      ...rules.map(({ expr }) => expr),
      ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ];
    const used = expressions.flatMap((expr) =>
      [...expr.matchAll(/\b((?:mic|mcp|http|db)_[a-z_]+)\b/g)].map(([, name = ""]) =>
        name.replace(/_(?:total|bucket|count)$/, ""),
      ),
    );
    expect(used.length).toBeGreaterThan(20);
    expect(used.filter((name) => !defined.includes(name))).toEqual([]);
  });

  const promtoolMissing = isInstalled("promtool") ? undefined : "promtool is not installed";
  test.skipIf(promtoolMissing !== undefined)(
    `promtool accepts the configuration and the alerts${promtoolMissing === undefined ? "" : ` (skipped: ${promtoolMissing})`}`,
    () => {
      for (const args of [
        ["config", "deploy/prometheus/prometheus.yaml"],
        ["rules", "deploy/prometheus/alerts.yaml"],
      ])
        expect(execFileSync("promtool", ["check", ...args], { encoding: "utf8" })).toMatch(/SUCCESS/);
    },
  );
});
