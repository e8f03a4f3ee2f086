// Tests the isolation of callers. A caller of the same team sees the workspace but no action, and a caller of another team sees
// nothing. TEAMS_PAIRS (default 100, thorough run 1000) sets how many pairs of a call and another caller's names are tried.
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { isJsonObject, type JsonSchema } from "../../src/contract/json.ts";
import type { Runtime } from "../../src/mcp/runtime.ts";
import { variableNames } from "../../src/toolkit/uri.ts";
import { serveOnHttp } from "../../src/transports/http/serve.ts";
import { Service } from "../emulator/service.ts";
import { createRetryableJob, FILE } from "../emulator/work.ts";
import { jobArguments } from "../mcp/tasks/fixtures.ts";
import { createManualClock, emulatorForTest } from "../support/emulator.ts";
import { connectHttp } from "../support/mcp.ts";
import { readResult } from "../support/results.ts";
import { runCount } from "../support/thorough.ts";
import {
  BLUE,
  createCaller,
  environmentForTest,
  instanceForTest,
  RED,
  resolveRuntime,
  sendRequest,
  serveRuntime,
} from "./deployment.ts";
import { describeWithPostgres } from "./services.ts";

const PAIRS = Number(process.env["TEAMS_PAIRS"] ?? runCount(40, 1_000));
/** Average number of attempts that one caller makes. */
const ATTEMPTS_PER_CALLER = 4;
const TIMEOUT_MS = 60_000 + PAIRS * 300;
const MARKER = "only-ann-knows-this";
const KEYS = ["ann-input-key-0001", "ann-job-key-0001", "ann-retry-key-0001"] as const;

const RequestLog = z.array(z.object({ clientId: z.string().optional(), idempotencyKey: z.string().optional() }));
const PendingResult = z.looseObject({ taskId: z.string().optional(), requestState: z.string().optional() });

const callTool = (url: string, name: string, args: object) => sendRequest(url, "tools/call", { name, arguments: args });

describeWithPostgres("isolation", (postgres) => {
  /** Starts an instance with three callers: Ann has worked in her team, Bob belongs to the same team, Cid to another one. */
  async function setUp() {
    const clock = createManualClock();
    const emulator = await emulatorForTest({ clients: 2, clock, maxRequestRecords: 100_000 });
    const [red] = emulator.clients;
    if (!red) throw new Error("the emulator has two clients");
    const place = await environmentForTest(postgres(), emulator, [RED, BLUE]);
    const instance = await instanceForTest(place);
    const runtimeFor = (name: string, claim: string) => resolveRuntime(instance, createCaller(name, [claim]));
    const urlFor = async (name: string, claim: string) => await serveRuntime(await runtimeFor(name, claim));
    const [ann, bob, cid] = [await urlFor("ann", "reds"), await urlFor("bob", "reds"), await urlFor("cid", "blues")];

    const service = new Service(emulator, clock);
    const failed = await createRetryableJob(service);
    const job = await jobArguments(service, FILE.succeeds);
    const input = { inputKind: "M4_FILE", referenceId: red.fileIds[1], alias: MARKER, idempotencyKey: KEYS[0] };
    const call = (name: string, args: object) => callTool(ann, name, args);
    const submission = await call("submit_job", { ...job, clientReference: MARKER, idempotencyKey: KEYS[1] });
    const { taskId = "" } = PendingResult.parse(submission.result);
    const answers = [
      await call("register_input", input),
      submission,
      await sendRequest(ann, "tasks/get", { taskId }),
      await call("download_asset", { assetId: red.assetIds[0] }),
    ];
    const listed = await call("list_jobs", { limit: 1 });
    const jobId = /"id":"([^"]+)"/.exec(JSON.stringify(listed.result?.["structuredContent"]))?.[1] ?? "";
    const cancel = { name: "cancel_job", arguments: { jobId, reason: MARKER } };
    const { requestState = "" } = PendingResult.parse((await sendRequest(ann, "tools/call", cancel)).result);
    const again = { jobId: failed.id, retryMode: "SAFE_RESUME", reason: MARKER, idempotencyKey: KEYS[2] };
    const retried = await call("retry_job", again);
    expect(readResult(retried.result)).toMatchObject({ isError: false });
    const all = JSON.stringify([...answers, listed, retried, await call("list_actions", {})]);
    const findAll = (pattern: RegExp): string[] => [...new Set(all.match(pattern) ?? [])];
    const links = findAll(/https:\/\/[^"\\\s]*\/downloads\/[\w.-]+/g);
    const annValues = [...KEYS, MARKER, taskId, requestState, ...links, ...findAll(/mic-[0-9a-f-]{20,}/g)];
    const teamValues = [
      ...[jobId, red.workspaceId, ...findAll(/mic(?:job|input|op|batch)\w*_[0-9a-f]{8,}/g)],
      ...[...red.inputIds.slice(0, 3), ...red.fileIds.slice(0, 3), ...red.assetIds.slice(0, 2)],
    ];
    expect([taskId, requestState]).not.toContain("");
    expect(links).toHaveLength(1);
    const requests = async () =>
      RequestLog.parse(await (await fetch(`${emulator.baseUrl}/__emulator/requests`)).json());
    const teamRequests = async () => (await requests()).filter(({ clientId }) => clientId === red.clientId);
    const confirmation = { ...cancel, requestState, inputResponses: { confirm: { action: "accept", content: {} } } };
    const pending = { taskId, requestState, confirmation };
    return { runtimeFor, ann, bob, cid, jobId, ...pending, annValues, teamValues, requests, teamRequests };
  }
  type Setup = Awaited<ReturnType<typeof setUp>>;

  /** Generates arguments that match a schema; their strings are mostly these names. */
  function arbitraryArguments(schema: JsonSchema, names: readonly string[]): fc.Arbitrary<unknown> {
    const { type, enum: enumValues, properties = {}, required = [], items } = schema;
    if (Array.isArray(enumValues)) return fc.constantFrom(...enumValues);
    if (type === "integer" || type === "number") return fc.constantFrom(0, 1, 2);
    if (type === "boolean") return fc.boolean();
    if (type === "array")
      return isJsonObject(items)
        ? fc.array(arbitraryArguments({ ...items }, names), { minLength: 1, maxLength: 2 })
        : fc.constant([]);
    if (type !== "object" || !isJsonObject(properties)) return fc.constantFrom(...names);
    const parts = Object.entries(properties).flatMap(([name, part]): [string, fc.Arbitrary<unknown>][] =>
      name === "waitSeconds" || !isJsonObject(part) ? [] : [[name, arbitraryArguments({ ...part }, names)]],
    );
    const needed = Array.isArray(required) ? required.filter((name) => parts.some(([each]) => each === name)) : [];
    return fc.record(Object.fromEntries(parts), { requiredKeys: needed });
  }

  interface Attempt {
    readonly method: string;
    readonly params: Readonly<Record<string, unknown>>;
  }

  /** Generates each kind of request that can contain another caller's names. */
  function arbitraryAttempt(runtime: Runtime, { annValues, teamValues, requestState }: Setup): fc.Arbitrary<Attempt> {
    const names = [...annValues, ...teamValues];
    const calls = runtime.tools
      .filter(({ toolsets }) => toolsets.includes("jobs"))
      .map((tool) =>
        fc.record({
          method: fc.constant("tools/call"),
          params: fc.record(
            {
              name: fc.constant(tool.name),
              arguments: arbitraryArguments(tool.inputSchema(), names),
              requestState: fc.constant(requestState),
              inputResponses: fc.constant({ confirm: { action: "accept", content: {} } }),
            },
            { requiredKeys: ["name", "arguments"] },
          ),
        }),
      );
    const name = fc.constantFrom(...names);
    const reads = runtime.resources.map(({ uri }) =>
      name.map((each) => ({
        method: "resources/read",
        params: { uri: uri.replace(/\{\w+\}/g, encodeURIComponent(each)) },
      })),
    );
    const completions = runtime.resources.flatMap(({ uri }) =>
      variableNames(uri).map((variable) =>
        name.chain((each) =>
          fc.nat(each.length).map((length) => {
            const argument = { name: variable, value: each.slice(0, length) };
            return { method: "completion/complete", params: { ref: { type: "ref/resource", uri }, argument } };
          }),
        ),
      ),
    );
    const tasks = ["tasks/get", "tasks/cancel", "tasks/update"].map((method) =>
      name.map((taskId) => ({ method, params: { taskId, ...(method === "tasks/update" && { inputResponses: {} }) } })),
    );
    return fc.oneof(
      { arbitrary: fc.oneof(...calls), weight: 6 },
      { arbitrary: fc.oneof(...reads), weight: 2 },
      { arbitrary: fc.oneof(...completions), weight: 2 },
      { arbitrary: fc.oneof(...tasks), weight: 1 },
    );
  }

  /**
   * Makes these attempts in turn as a new caller with this claim, and returns the secrets that leaked. A response may contain
   * what the caller has sent, in this attempt or an earlier one. For example, it may name an action that the caller made with the
   * same key as Ann.
   */
  async function findLeaks(
    { runtimeFor }: Setup,
    claim: string,
    sequence: readonly Attempt[],
    secrets: readonly string[],
  ) {
    const { url, drain } = await serveOnHttp(await runtimeFor(`caller-${++callers}`, claim), {
      address: "127.0.0.1",
      port: 0,
      access: undefined,
    });
    let sentParams = "";
    const leaked: string[] = [];
    for (const { method, params } of sequence) {
      sentParams += JSON.stringify(params);
      const answer = JSON.stringify(await sendRequest(url, method, params));
      leaked.push(...secrets.filter((secret) => answer.includes(secret) && !sentParams.includes(secret)));
    }
    await drain(0, AbortSignal.abort());
    return leaked;
  }
  let callers = 0;
  async function expectNoLeaks(setup: Setup, claim: string, secrets: readonly string[]): Promise<void> {
    const attempt = arbitraryAttempt(await setup.runtimeFor("bob", "reds"), setup);
    await fc.assert(
      fc.asyncProperty(fc.array(attempt, { minLength: 1, maxLength: 2 * ATTEMPTS_PER_CALLER }), async (sequence) => {
        expect(await findLeaks(setup, claim, sequence, secrets)).toEqual([]);
      }),
      { numRuns: Math.ceil(PAIRS / ATTEMPTS_PER_CALLER) },
    );
  }

  test.each([
    ["another team gets no name of the first caller or team, and causes no request with that team's token", "blues"],
    ["the same team gets no key, task, link or text of another caller, and sends no request with their keys", "reds"],
  ])(
    "a caller of %s",
    async (_what, claim) => {
      const setUpResult = await setUp();
      const { annValues, teamValues, teamRequests } = setUpResult;
      const isOtherTeam = claim === "blues";
      const countRequests = async () =>
        (await teamRequests()).filter(({ idempotencyKey = "" }) => isOtherTeam || annValues.includes(idempotencyKey))
          .length;
      const before = await countRequests();
      // The team's jobs and inputs show the marker in their names.
      const secrets = isOtherTeam ? [...annValues, ...teamValues] : annValues.filter((name) => name !== MARKER);
      await expectNoLeaks(setUpResult, claim, secrets);
      expect(await countRequests()).toBe(before);
    },
    TIMEOUT_MS,
  );

  test("a task and a pending question are accessible only to their caller", async () => {
    const { ann, bob, cid, taskId, confirmation, jobId, requests } = await setUp();
    const before = (await requests()).length;
    for (const url of [bob, cid]) {
      for (const method of ["tasks/get", "tasks/cancel"])
        expect(await sendRequest(url, method, { taskId })).toMatchObject({ error: { code: -32602 } });
      expect(await sendRequest(url, "tools/call", confirmation)).toMatchObject({ error: { code: -32602 } });
    }
    expect((await requests()).length).toBe(before);
    expect(await sendRequest(ann, "tasks/get", { taskId })).toMatchObject({ result: { status: "working" } });
    expect(JSON.stringify(await sendRequest(ann, "tools/call", confirmation))).toContain(jobId);
  });

  test("a subscriber receives notifications only about the resources of their own team", async () => {
    const { bob, cid, jobId } = await setUp();
    const uri = `mic://jobs/${jobId}`;
    const listenAt = async (url: string) => {
      const client = await connectHttp("v2-modern", url);
      onTestFinished(() => client.close());
      return await client.listen(uri).catch(() => []);
    };
    expect([await listenAt(bob), await listenAt(cid)]).toEqual([[uri], []]);
  });
});
