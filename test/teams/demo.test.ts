// A deployment on this machine: a sign-in, a job, an instance killed during the request, and one execution. `npm run teams:demo` prints it.
import { UnauthorizedError } from "@modelcontextprotocol/client";
import { expect, onTestFinished } from "vitest";
import { escapeText, formatJson } from "../../src/core/untrusted-text.ts";
import { deploymentMissing, startDeployment } from "../support/deployment.ts";
import { countExecutions } from "../support/load.ts";
import { queryPostgres } from "../support/postgres.ts";
import { startPostgresPair } from "../support/postgres-pair.ts";
import { readResult } from "../support/results.ts";
import { testUnless } from "../support/unless.ts";
import { connectSignedIn, createTestUser } from "./test-user.ts";

const SUBMISSION = "createMicJob";
const isPrinted = process.env["npm_lifecycle_event"] === "teams:demo";

function print(text: string, indent = "   "): void {
  if (isPrinted) for (const line of text.split("\n")) process.stdout.write(`${indent}${escapeText(line)}\n`);
}

async function startDemo() {
  const postgres = await startPostgresPair();
  onTestFinished(() => postgres.stop());
  const databaseUrl = await postgres.createDatabase();
  const provider = { groupsOf: () => ["group-1"] };
  const deployment = await startDeployment({ instances: 2, teams: 2, databaseUrl, provider });
  onTestFinished(() => deployment.stop());
  return deployment;
}
type Demo = Awaited<ReturnType<typeof startDemo>>;

/** Signs alice in. Her agent's calls ask her to sign in again if they need another scope. */
async function connectAlice({ url, provider }: Demo) {
  const user = createTestUser(provider);
  const { client, transport } = await connectSignedIn(url, "modern", user);
  return async (name: string, args: Readonly<Record<string, unknown>>) => {
    print(`alice's agent calls ${name} ${formatJson(args)}`);
    const callTool = () => client.callTool({ name, arguments: { ...args } });
    const result = await callTool().catch(async (error: unknown) => {
      if (!(error instanceof UnauthorizedError)) throw error;
      print(`  this call needs more than ${user.requestedScopes[0]}: alice signs in again`);
      await transport.finishAuth(await user.callback());
      return await callTool();
    });
    const { isError, text, structured } = readResult(result);
    expect(isError, text).toBe(false);
    return Object(structured);
  };
}
type Call = Awaited<ReturnType<typeof connectAlice>>;

/** The API executes the request, but the response never arrives, because the instance that waits for it is killed. */
async function killInstanceDuringRequest({ emulator, databaseUrl, fleet }: Demo, call: Call, job: object) {
  const body = JSON.stringify({ operationId: SUBMISSION, fault: { kind: "hang", afterCommit: true } });
  const headers = { "content-type": "application/json" };
  await fetch(`${emulator.baseUrl}/__emulator/faults`, { method: "POST", headers, body });
  const countJobs = () => countExecutions(emulator.baseUrl, SUBMISSION);
  const before = await countJobs();
  const lost = expect(call("submit_job", { ...job })).rejects.toThrow();
  await expect.poll(countJobs).toBe(before + 1);
  const ownerQuery = "SELECT owner FROM actions WHERE state = 'in_progress'";
  const [action] = await queryPostgres(databaseUrl.split(",")[0] ?? "", ownerQuery);
  const [, pid] = JSON.parse(String(action?.["owner"]));
  const owner = fleet.instances.find((instance) => instance.pid() === pid);
  if (!owner) throw new Error(`no instance is the process ${pid}`);
  await owner.kill();
  await lost;
  print(
    `The API has made the job. ${owner.name} is dead (kill -9), and the agent repeats the call at the other instance.`,
  );
  const { data } = await call("submit_job", { ...job });
  expect(await countJobs()).toBe(before + 1);
  print(`The agent gets the job ${data.id}, under the key of its first call. The API counts 1 job.`);
  await owner.start();
  return data.id;
}

testUnless(
  // The command fails if it cannot show the demo.
  isPrinted ? undefined : deploymentMissing,
  "a job whose instance is killed during the request is made once, and its agent gets it after a sign-in and a repetition",
  async () => {
    expect(deploymentMissing).toBeUndefined();
    const demo = await startDemo();
    print(`API        ${demo.emulator.baseUrl}, with a client for each of ${demo.teams.length} teams`);
    print(`database   ${demo.databaseUrl.split(",").length} PostgreSQL servers, the second confirms each commit`);
    print(`sign-in    ${demo.provider.issuer} (oidc-provider)`);
    print(`instances  ${demo.fleet.instances.map((instance) => instance.url).join(", ")}`);
    print(`haproxy    ${demo.url}`);
    print("1. The teams, with their secrets encrypted in PostgreSQL", "");
    for (const action of ["list", "check"])
      print((await demo.runCommand(["teams", action])).trimEnd().replaceAll("\t", "  "));
    print("2. Alice signs in: her agent finds the provider, a browser opens, and she gets a token for reads", "");
    const call = await connectAlice(demo);
    print("3. A job, which needs the scope for writing", "");
    const { data: recipes } = await call("list_recipes", {});
    const recipe = recipes.find(({ name }: { name: string }) => name.startsWith("Normalize"));
    const referenceId = demo.teams[0]?.client.fileIds[0];
    const input = await call("register_input", { inputKind: "M4_FILE", referenceId });
    print(input.summary);
    const job = {
      recipeVersionId: recipe.versionId,
      inputBindings: [{ port: recipe.ports, inputId: input.data.id }],
      parameterValues: { level: "DISTRICT", vintage: "2026-09-30" },
    };
    print("4. The response is lost, the instance is killed, and the repeated call finds the same job", "");
    const jobId = await killInstanceDuringRequest(demo, call, job);
    print("5. The load balancer is killed and started again", "");
    await demo.balancer.kill();
    await demo.balancer.start();
    const { data, summary } = await call("get_job", { jobId, waitSeconds: 45 });
    print(summary);
    expect(data.state).toBe("SUCCEEDED");
  },
  240_000,
);
