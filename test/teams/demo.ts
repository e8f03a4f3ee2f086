// `npm run teams:demo`: a deployment for teams on this machine, from what npm and Debian have, told as a transcript: a sign-in, two
// teams, a job, an instance that is killed in the middle, and one execution by the service's own count.
import { setTimeout as sleep } from "node:timers/promises";
import { Client, StreamableHTTPClientTransport as Transport, UnauthorizedError } from "@modelcontextprotocol/client";
import pg from "pg";
import * as z from "zod/v4";
import { escaped, json } from "../../src/outside.ts";
import { type Deployment, deploymentMissing, startDeployment, type Team } from "../support/deployment.ts";
import type { Instance } from "../support/fleet.ts";
import { executionsAt } from "../support/load.ts";
import { startPostgresPair } from "../support/postgres-pair.ts";
import { type CallResult, readResult } from "../support/results.ts";
import { personAt } from "./person.ts";

const GROUPS: Readonly<Record<string, string>> = { alice: "group-1", bob: "group-1", carol: "group-2" };
const PARAMETERS = { level: "DISTRICT", vintage: "2026-09-30" };
const SUBMISSION = "createMicJob";
const LOOK_EVERY_MS = 50;
const MAX_LOOKS = 600;

let chapters = 0;
const say = (text: string): void => void process.stdout.write(`${text.replace(/^(?=.)/gm, "   ")}\n`);
const chapter = (title: string): void => {
  chapters += 1;
  process.stdout.write(`\n${chapters}. ${title}\n`);
};

/** Prints a fact that the demo shows, or ends the demo if it does not hold. */
function expect(holds: boolean, fact: string): void {
  if (!holds) throw new Error(escaped(`not as told: ${fact}`));
  say(`ok ${escaped(fact)}`);
}

interface Somebody {
  readonly name: string;
  call(tool: string, args: Readonly<Record<string, unknown>>): Promise<CallResult>;
  /** Of a tool that must succeed, as this schema has it. */
  ask<S extends z.ZodType>(schema: S, tool: string, args: Readonly<Record<string, unknown>>): Promise<z.output<S>>;
  close(): Promise<void>;
}

/** Signs in as a host does: a browser is opened where the server asks for it, and again for a scope that is missing. */
async function signIn({ url, provider }: Deployment, name: string): Promise<Somebody> {
  const person = personAt(provider, { who: name, by: "its id" });
  const open = async () => {
    const client = new Client(
      { name: `agent of ${name}`, version: "1" },
      { versionNegotiation: { mode: { pin: "2026-07-28" } } },
    );
    const transport = new Transport(new URL(url), { authProvider: person });
    return { client, transport, connect: () => client.connect(transport) };
  };
  const first = await open();
  await first.connect().catch((error: unknown) => {
    if (!(error instanceof UnauthorizedError)) throw error;
  });
  await first.transport.finishAuth(await person.callback());
  const { client, transport, connect } = await open();
  await connect();
  const called = (tool: string, args: Readonly<Record<string, unknown>>) =>
    client.callTool({ name: tool, arguments: { ...args } });
  const call: Somebody["call"] = async (tool, args) => {
    say(`${name}'s agent calls ${tool} ${json(args)}`);
    try {
      return readResult(await called(tool, args));
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error;
      say(`  it takes more than ${person.asked.at(0)}: ${name} is asked to sign in for ${person.asked.at(-1)}`);
      await transport.finishAuth(await person.callback());
      return readResult(await called(tool, args));
    }
  };
  return {
    name,
    call,
    async ask(schema, tool, args) {
      const result = await call(tool, args);
      if (result.isError) throw new Error(result.text);
      return schema.parse(result.structured);
    },
    close: () => client.close(),
  };
}

const Made = z.looseObject({ summary: z.string(), data: z.looseObject({ id: z.string() }) });
const Submitted = Made.extend({ action: z.object({ idempotencyKey: z.string(), replayed: z.boolean() }) });
const Offers = z.looseObject({
  data: z.array(z.looseObject({ versionId: z.string(), name: z.string(), ports: z.string() })),
});
const Told = z.looseObject({ summary: z.string(), data: z.looseObject({ state: z.string() }) });

async function prepareJob(agent: Somebody, { client }: Team) {
  const { data } = await agent.ask(Offers, "list_recipes", {});
  const recipe = data.find(({ name }) => name.startsWith("Normalize"));
  if (!recipe) throw new Error("no recipe to normalize divisions is offered");
  const input = await agent.ask(Made, "register_input", { inputKind: "M4_FILE", referenceId: client.fileIds[0] });
  say(escaped(input.summary));
  return {
    recipeVersionId: recipe.versionId,
    inputBindings: [{ port: recipe.ports, inputId: input.data.id }],
    parameterValues: PARAMETERS,
  };
}

const OpenAction = z.tuple([z.object({ owner: z.string() })]);
const Owner = z.tuple([z.string(), z.number(), z.string()]);

/** The instance that the journal names as owner of the action in progress. */
async function whoHasIt({ fleet, databaseUrl }: Deployment): Promise<Instance> {
  const client = new pg.Client({ connectionString: databaseUrl.split(",")[0] });
  await client.connect();
  try {
    const { rows } = await client.query("SELECT owner FROM actions WHERE state = 'in_progress'");
    const [{ owner }] = OpenAction.parse(rows);
    const [, pid] = Owner.parse(JSON.parse(owner));
    const holder = fleet.instances.find((instance) => instance.pid() === pid);
    if (!holder) throw new Error(`no instance is the process ${pid}`);
    say(`The journal has the action, written before it was sent, in the name of ${holder.name}.`);
    return holder;
  } finally {
    await client.end();
  }
}

/** The service does it, and its answer never comes: the instance that asked is killed meanwhile. */
async function killedInTheMiddle(deployment: Deployment, agent: Somebody, job: Readonly<Record<string, unknown>>) {
  const { emulator } = deployment;
  const fault = { operationId: SUBMISSION, fault: { kind: "hang", afterCommit: true } };
  const headers = { "content-type": "application/json" };
  await fetch(`${emulator.baseUrl}/__emulator/faults`, { method: "POST", headers, body: JSON.stringify(fault) });
  const before = await executionsAt(emulator.baseUrl, SUBMISSION);
  const lost = agent.call("submit_job", job).then(
    (result) => result.isError,
    () => true,
  );
  for (let looks = 1; (await executionsAt(emulator.baseUrl, SUBMISSION)) === before; looks++) {
    if (looks > MAX_LOOKS) throw new Error("the service does not make the job");
    await sleep(LOOK_EVERY_MS);
  }
  say("The service has made the job. Its answer does not come.");
  const holder = await whoHasIt(deployment);
  await holder.kill();
  expect(await lost, `${holder.name} is dead (kill -9), and the agent has no answer`);
  say("the agent asks for the same once more, word for word; the balancer gives it to the other instance");
  const { data, action } = await agent.ask(Submitted, "submit_job", job);
  expect(action.replayed, `it is told the job ${data.id}, under the key of its first call`);
  const jobs = (await executionsAt(emulator.baseUrl, SUBMISSION)) - before;
  expect(jobs === 1, `the service's own count: ${jobs} job`);
  await holder.start();
  say(`${holder.name} is back.`);
  return data.id;
}

const Listed = z.looseObject({ actions: z.array(z.looseObject({ tool: z.string() })) });

async function nobodySeesAnothers(deployment: Deployment, alice: Somebody, jobId: string): Promise<void> {
  const bob = await signIn(deployment, "bob");
  const carol = await signIn(deployment, "carol");
  try {
    const { data } = await bob.ask(Told, "get_job", { jobId });
    expect(data.state !== "", "bob is in alice's team: he sees the workspace's jobs");
    const listed = await bob.ask(Listed, "list_actions", {});
    expect(listed.actions.length === 0, "what alice has done is not among his actions");
    const refused = await carol.call("get_job", { jobId });
    expect(
      refused.error?.kind === "not_found",
      "carol is in the other team, with its own credentials: there is no such job",
    );
    const own = await alice.ask(Listed, "list_actions", {});
    expect(own.actions.length > 0, `alice has ${own.actions.length}`);
  } finally {
    await bob.close();
    await carol.close();
  }
}

async function tell(deployment: Deployment): Promise<void> {
  const { url, provider, emulator, teams, fleet, databaseUrl, balancer } = deployment;
  const [red] = teams;
  if (!red) throw new Error("there is no team");
  say(`service    ${emulator.baseUrl}, with a client for each of ${teams.length} teams`);
  say(`database   ${databaseUrl.split(",").length} PostgreSQL servers, the second confirms each commit`);
  say(`sign-in    ${provider.issuer} (oidc-provider)`);
  say(`instances  ${fleet.instances.map((instance) => instance.url).join(", ")}`);
  say(`haproxy    ${url}`);

  chapter("The teams, their secrets sealed in PostgreSQL");
  for (const action of ["list", "check"])
    for (const line of (await deployment.command(["teams", action])).trimEnd().split("\n"))
      say(escaped(line.replaceAll("\t", "  ")));

  chapter("Alice signs in: her agent finds the provider by itself, a browser opens, she may read");
  const bare = await fetch(url, { method: "POST", body: "{}" });
  expect(bare.status === 401, `without a token: 401, ${bare.headers.get("www-authenticate")}`);
  const alice = await signIn(deployment, "alice");
  try {
    chapter("A job, by whoever may act");
    const job = await prepareJob(alice, red);
    chapter("The answer is lost and the instance is killed: there is one job all the same");
    const jobId = await killedInTheMiddle(deployment, alice, job);
    const { data, summary } = await alice.ask(Told, "get_job", { jobId, waitSeconds: 45 });
    say(escaped(summary));
    expect(data.state === "SUCCEEDED", "the job has succeeded");

    chapter("The balancer is killed, too");
    await balancer.kill();
    await balancer.start();
    const again = await alice.ask(Told, "get_job", { jobId });
    expect(again.data.state === "SUCCEEDED", "it is back, and the agent goes on as before");

    chapter("Nobody sees or touches another's");
    await nobodySeesAnothers(deployment, alice, jobId);
  } finally {
    await alice.close();
  }
}

async function demo(): Promise<number> {
  process.stdout.write(
    `mic-mcp, a deployment for teams: two instances, PostgreSQL with a replica, haproxy, an identity provider.\n`,
  );
  if (deploymentMissing !== undefined) {
    process.stdout.write(
      `\nIt cannot be shown here: ${deploymentMissing} (Debian: apt-get install postgresql haproxy).\n`,
    );
    return 1;
  }
  const startedAt = performance.now();
  const postgres = await startPostgresPair();
  try {
    const deployment = await startDeployment({
      instances: 2,
      teams: 2,
      databaseUrl: await postgres.database(),
      provider: { groupsOf: (subject) => [GROUPS[subject] ?? ""] },
    });
    try {
      await tell(deployment);
    } finally {
      await deployment.stop();
    }
    const seconds = (performance.now() - startedAt) / 1000;
    process.stdout.write(`\nEverything went as told, in ${seconds.toFixed(1)} s.\n`);
    return 0;
  } catch (error) {
    process.stdout.write(`\nThe demo stopped: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  } finally {
    await postgres.stop();
  }
}

process.exitCode = await demo();
