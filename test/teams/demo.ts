// `npm run teams:demo`: starts a deployment on this machine from npm and Debian packages, and prints a transcript. It shows a
// sign-in, a job, an instance killed during the request, and one execution by the emulator's own count.
import { setTimeout as sleep } from "node:timers/promises";
import { Client, StreamableHTTPClientTransport as Transport, UnauthorizedError } from "@modelcontextprotocol/client";
import * as z from "zod/v4";
import { escapeText, formatJson } from "../../src/core/untrusted-text.ts";
import { type Deployment, deploymentMissing, startDeployment, type Team } from "../support/deployment.ts";
import { countExecutions } from "../support/load.ts";
import { queryPostgres } from "../support/postgres.ts";
import { startPostgresPair } from "../support/postgres-pair.ts";
import { type CallResult, readResult } from "../support/results.ts";
import { createTestUser } from "./test-user.ts";

const SUBMISSION = "createMicJob";
const POLL_INTERVAL_MS = 50;
const MAX_POLLS = 600;

let chapters = 0;
const print = (text: string): void => void process.stdout.write(`${escapeText(text).replace(/^(?=.)/gm, "   ")}\n`);
const printChapter = (title: string): void => void process.stdout.write(`\n${++chapters}. ${title}\n`);

/** Prints a fact, or throws if it does not hold. */
function expect(isTrue: boolean, fact: string): void {
  if (!isTrue) throw new Error(`not as described: ${fact}`);
  print(`ok ${fact}`);
}

type Arguments = Readonly<Record<string, unknown>>;
interface Agent {
  call(tool: string, args: Arguments): Promise<CallResult>;
  /** Calls a tool; throws if the call fails. */
  callSuccessfully<S extends z.ZodType>(schema: S, tool: string, args: Arguments): Promise<z.output<S>>;
  close(): Promise<void>;
}

/** Signs in as a host does: opens a browser when the server requires it, and again for a missing scope. */
async function signIn({ url, provider }: Deployment, name: string): Promise<Agent> {
  const user = createTestUser(provider, { name, registration: "its id" });
  const ownerQuery = () => ({
    client: new Client({ name, version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } }),
    transport: new Transport(new URL(url), { authProvider: user }),
  });
  const rethrowUnlessUnauthorized = (error: unknown): void => {
    if (!(error instanceof UnauthorizedError)) throw error;
  };
  const first = ownerQuery();
  await first.client.connect(first.transport).catch(rethrowUnlessUnauthorized);
  await first.transport.finishAuth(await user.callback());
  const { client, transport } = ownerQuery();
  await client.connect(transport);
  const call: Agent["call"] = async (tool, args) => {
    print(`${name}'s agent calls ${tool} ${formatJson(args)}`);
    const callTool = () => client.callTool({ name: tool, arguments: { ...args } });
    try {
      return readResult(await callTool());
    } catch (error) {
      rethrowUnlessUnauthorized(error);
      print(
        `  it takes more than ${user.requestedScopes.at(0)}: ${name} is asked to sign in for ${user.requestedScopes.at(-1)}`,
      );
      await transport.finishAuth(await user.callback());
      return readResult(await callTool());
    }
  };
  return {
    call,
    async callSuccessfully(schema, tool, args) {
      const result = await call(tool, args);
      if (result.isError) throw new Error(result.text);
      return schema.parse(result.structured);
    },
    close: () => client.close(),
  };
}

const Created = z.looseObject({ summary: z.string(), data: z.looseObject({ id: z.string() }) });
const Submitted = Created.extend({ action: z.object({ replayed: z.boolean() }) });
const RecipeList = z.looseObject({
  data: z.array(z.looseObject({ versionId: z.string(), name: z.string(), ports: z.string() })),
});
const Job = z.looseObject({ summary: z.string(), data: z.looseObject({ state: z.string() }) });

async function prepareJob(agent: Agent, { client }: Team): Promise<Arguments> {
  const { data } = await agent.callSuccessfully(RecipeList, "list_recipes", {});
  const recipe = data.find(({ name }) => name.startsWith("Normalize"));
  if (!recipe) throw new Error("no recipe to normalize divisions is offered");
  const input = await agent.callSuccessfully(Created, "register_input", {
    inputKind: "M4_FILE",
    referenceId: client.fileIds[0],
  });
  print(input.summary);
  return {
    recipeVersionId: recipe.versionId,
    inputBindings: [{ port: recipe.ports, inputId: input.data.id }],
    parameterValues: { level: "DISTRICT", vintage: "2026-09-30" },
  };
}

const Owner = z.tuple([z.string(), z.number(), z.string()]);

/** The API executes the request, but the response never arrives, because the instance that waits for it is killed. */
async function killInstanceDuringRequest({ emulator, databaseUrl, fleet }: Deployment, agent: Agent, job: Arguments) {
  const fault = { operationId: SUBMISSION, fault: { kind: "hang", afterCommit: true } };
  const headers = { "content-type": "application/json" };
  await fetch(`${emulator.baseUrl}/__emulator/faults`, { method: "POST", headers, body: JSON.stringify(fault) });
  const before = await countExecutions(emulator.baseUrl, SUBMISSION);
  const isLost = agent.call("submit_job", job).then(
    ({ isError }) => isError,
    () => true,
  );
  for (let polls = 1; (await countExecutions(emulator.baseUrl, SUBMISSION)) === before; polls++) {
    if (polls > MAX_POLLS) throw new Error("the API does not make the job");
    await sleep(POLL_INTERVAL_MS);
  }
  print("The API has made the job. Its answer does not come.");
  const ownerQuery = "SELECT owner FROM actions WHERE state = 'in_progress'";
  const [action] = await queryPostgres(databaseUrl.split(",")[0] ?? "", ownerQuery);
  const [, pid] = Owner.parse(JSON.parse(String(action?.["owner"])));
  const owner = fleet.instances.find((instance) => instance.pid() === pid);
  if (!owner) throw new Error(`no instance is the process ${pid}`);
  print(`The journal has the action, written before it was sent, in the name of ${owner.name}.`);
  await owner.kill();
  expect(await isLost, `${owner.name} is dead (kill -9), and the agent has no answer`);
  print("the agent repeats the call; the balancer gives it to the other instance");
  const { data, action: replay } = await agent.callSuccessfully(Submitted, "submit_job", job);
  expect(replay.replayed, `it gets the job ${data.id}, under the key of its first call`);
  const jobs = (await countExecutions(emulator.baseUrl, SUBMISSION)) - before;
  expect(jobs === 1, `the service's own count: ${jobs} job`);
  await owner.start();
  return data.id;
}

async function runDemo(deployment: Deployment): Promise<void> {
  const { url, provider, emulator, teams, fleet, databaseUrl, balancer } = deployment;
  const [team] = teams;
  if (!team) throw new Error("there is no team");
  print(`API        ${emulator.baseUrl}, with a client for each of ${teams.length} teams`);
  print(`database   ${databaseUrl.split(",").length} PostgreSQL servers, the second confirms each commit`);
  print(`sign-in    ${provider.issuer} (oidc-provider)`);
  print(`instances  ${fleet.instances.map((instance) => instance.url).join(", ")}`);
  print(`haproxy    ${url}`);

  printChapter("The teams, with their secrets encrypted in PostgreSQL");
  for (const action of ["list", "check"])
    for (const line of (await deployment.runCommand(["teams", action])).trimEnd().split("\n"))
      print(line.replaceAll("\t", "  "));

  printChapter("Alice signs in: her agent finds the provider, a browser opens, she may read");
  const unauthorized = await fetch(url, { method: "POST", body: "{}" });
  expect(unauthorized.status === 401, `without a token: 401, ${unauthorized.headers.get("www-authenticate")}`);
  const alice = await signIn(deployment, "alice");
  try {
    printChapter("A job, which needs the right to act");
    const job = await prepareJob(alice, team);
    printChapter("The answer is lost and the instance is killed: there is one job all the same");
    const jobId = await killInstanceDuringRequest(deployment, alice, job);
    printChapter("The balancer is killed, too");
    await balancer.kill();
    await balancer.start();
    const { data, summary } = await alice.callSuccessfully(Job, "get_job", { jobId, waitSeconds: 45 });
    print(summary);
    expect(data.state === "SUCCEEDED", "the job has succeeded");
  } finally {
    await alice.close();
  }
}

async function main(): Promise<void> {
  if (deploymentMissing !== undefined)
    throw new Error(`it needs more (Debian: apt-get install postgresql haproxy): ${deploymentMissing}`);
  const startedAt = performance.now();
  const postgres = await startPostgresPair();
  try {
    const provider = { groupsOf: () => ["group-1"] };
    const databaseUrl = await postgres.createDatabase();
    const deployment = await startDeployment({ instances: 2, teams: 2, databaseUrl, provider });
    await runDemo(deployment).finally(() => deployment.stop());
  } finally {
    await postgres.stop();
  }
  process.stdout.write(
    `\nEvery step went as described, in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.\n`,
  );
}

await main().catch((error: unknown) => {
  process.stdout.write(`\nThe demo stopped: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
