// Tests resources over the protocol: their list, their content compared with their tool, missing resources and errors.
import { describe, expect, test } from "vitest";
import * as z from "zod/v4";
import { resources } from "../../../src/toolkit/resources/index.ts";
import { expand, matchTemplate, variableNames } from "../../../src/toolkit/uri.ts";
import { tools } from "../../../tools/index.ts";
import { FILE, submitJob } from "../../emulator/work.ts";
import { type OperationId, operations } from "../../operations.ts";
import { emulatorEnv, inProcessClientForTest } from "../../support/mcp.ts";
import { words } from "../../support/words.ts";
import type { Bench } from "../../tools/bench.ts";
import { describeEachRevisionInProcess } from "../../tools/revisions.ts";

// The list of docs/interface.md, "Resources".
const TEMPLATES = words(`
  mic://geography/states/{code}/districts mic://workspaces/{workspaceId}/jobs mic://workspaces/{workspaceId}/recipes
  mic://jobs/{jobId} mic://recipes/{versionId} mic://inputs/{inputId} mic://operations/{operationId}
  mic://processing-requests/{requestId}`);
const CATALOG_URI = "mic://geography/catalogue.tsv";
const STATIC = ["mic://geography/states", CATALOG_URI, "mic://actions"];

const uriOf = (template: string, args: object): string =>
  expand(template, z.record(z.string(), z.string()).parse({ ...args }));

const ProtocolError = z.looseObject({ code: z.number(), message: z.string(), data: z.unknown() });

/** The protocol error of a read that fails. */
async function readError(bench: Bench, uri: string) {
  const error: unknown = await bench.connection.readResource(uri).then(
    ({ text }) => expect.fail(`${uri} was read: ${text}`),
    (thrown: unknown) => thrown,
  );
  return ProtocolError.parse({ ...Object(error), message: Object(error).message });
}

describe("resource definitions", () => {
  test("each resource names a tool, and its URI matches only its own template", () => {
    for (const { uri, tool } of resources) {
      expect(
        tools.map(({ name }) => name),
        uri,
      ).toContain(tool);
      const values = Object.fromEntries(variableNames(uri).map((name) => [name, "a/b %?#é"]));
      const matching = resources.filter((each) => matchTemplate(each.uri, expand(uri, values)) !== undefined);
      expect(matching.map((each) => each.uri)).toEqual([uri]);
      expect(matchTemplate(uri, expand(uri, values))).toEqual(values);
    }
  });

  test.each(["mic://jobs", "mic://jobs/", "mic://jobs/a/b", "mic://jobs/%zz", "mic://jobs/a?b", "http://jobs/a"])(
    "%s is not the URI of a job",
    (uri) => expect(matchTemplate("mic://jobs/{jobId}", uri)).toBeUndefined(),
  );
});

/** test/mcp/skills tests their content. */
const SKILLS = ["answer-geography", "retry-safely", "run-a-job"].map((name) => `skill://${name}/SKILL.md`);

describeEachRevisionInProcess((bench, clientRevision) => {
  const isModern = clientRevision === "v2-modern";

  test("templates and resources without variables are listed", async () => {
    const templates = await bench().connection.listTemplates();
    expect(templates.map(({ uriTemplate }) => uriTemplate)).toEqual(TEMPLATES);
    expect((await bench().connection.listResources()).map(({ uri }) => uri)).toEqual([...STATIC, ...SKILLS]);
    for (const { title, description } of templates) {
      expect(title).toMatch(/^[A-Z]/);
      expect(description).toMatch(/\.$/);
    }
  });

  test("each resource has the content that its tool reads, without the envelope", async () => {
    const { workspaceId } = bench();
    const cases: readonly (readonly [template: string, tool: string, args: OperationId | object])[] = [
      ["mic://geography/states", "list_states", {}],
      ["mic://jobs/{jobId}", "get_job", "getMicJob"],
      ["mic://recipes/{versionId}", "get_recipe", "getMicExecutableRecipe"],
      ["mic://inputs/{inputId}", "get_input", "getMicPublicInput"],
      ["mic://operations/{operationId}", "get_operation", "getMicPublicOperation"],
      ["mic://processing-requests/{requestId}", "get_file_processing_request", "getMicSharedFileProcessingRequest"],
      ["mic://workspaces/{workspaceId}/jobs", "list_jobs", { workspaceId }],
      ["mic://workspaces/{workspaceId}/recipes", "list_recipes", { workspaceId }],
      ["mic://actions", "list_actions", {}],
    ];
    for (const [template, tool, from] of cases) {
      const isOne = typeof from === "string";
      const args = isOne ? { ...(await bench().argumentsFor(from)), view: "full" } : from;
      const { mimeType, text, ttlMs, cacheScope } = await bench().connection.readResource(uriOf(template, args));
      expect(mimeType).toBe("application/json");
      const { structured } = await bench().call(tool, { ...args });
      const { page: _page, ...content } = JSON.parse(text);
      const { page: _itsPage, summary, ...result } = Object(structured);
      // The summary of a geography tool is not part of the contract's body.
      const isGeography = template.includes("geography");
      expect(content, template).toEqual(isOne ? result.data : isGeography ? result : { summary, ...result });
      expect(ttlMs !== undefined).toBe(isModern);
      expect(cacheScope).toBe(isModern ? (isGeography ? "public" : "private") : undefined);
    }
    const { summary: _summary, ...districts } = (await bench().ok("list_districts", { state: "KA" })).structured;
    for (const code of ["KA", "ka"]) {
      const { text } = await bench().connection.readResource(`mic://geography/states/${code}/districts`);
      expect(JSON.parse(text)).toEqual(districts);
    }
  });

  test("the catalogue is one table, with coverage and vintage in its first line", async () => {
    const env = { ...emulatorEnv(bench().service.emulator), MIC_GEOGRAPHY_RATE: "600" };
    const connection = await inProcessClientForTest(clientRevision, env);
    const { mimeType, text } = await connection.readResource(CATALOG_URI);
    expect(mimeType).toBe("text/tab-separated-values");
    const [note, header, ...rows] = text.trimEnd().split("\n");
    expect(note).toMatch(/^# Vintage: 2026-05-25, complete, /);
    expect(header).toBe("districtCode\tname\tstateCode\tstateName\tmandalCount");
    expect(rows).toHaveLength(784);
    expect(rows).toContain("516\tNizamabad\tTG\tTelangana\t33");
  });

  test("a missing resource returns the protocol's resource-not-found error with its URI", async () => {
    const none = [
      "mic://jobs/no-such-job",
      "mic://inputs/micinput_0",
      "mic://operations/nothing",
      `mic://recipes/micrecipev_${"0".repeat(32)}`,
      "mic://recipes/not-even-an-id",
      `mic://processing-requests/micsharedrequest_${"0".repeat(32)}`,
      "mic://geography/states/ZZ/districts",
      "mic://geography/states/KARNATAKA/districts",
      "mic://geography/elephants",
      "mic://jobs/..",
      "mic://jobs/%FF",
    ];
    for (const uri of none) {
      const { code, message, data } = await readError(bench(), uri);
      expect(code, uri).toBe(isModern ? -32602 : -32002);
      expect(message).toContain(uri);
      expect(data).toEqual({ uri });
    }
    const { message } = await readError(bench(), "mic://recipes/not-even-an-id");
    expect(message).toContain("versionId");
  });

  test("an answer that violates the contract is reported, and so are other errors", async () => {
    const { jobId } = await bench().argumentsFor("getMicJob");
    const uri = `mic://jobs/${jobId}`;
    await bench().service.injectFault(
      { kind: "body", body: '{"data":{"id":5},"meta":{"requestId":"r"}}' },
      { operationId: "getMicJob" },
    );
    const broken = await readError(bench(), uri);
    expect(broken.message).toContain("/data/id");
    expect(broken).toMatchObject({
      code: -32603,
      data: { uri, "mic-mcp/error": { kind: "contract_violation", sideEffect: "none" } },
    });
    const forbidden = await readError(bench(), "mic://workspaces/micws_other/jobs");
    expect(forbidden).toMatchObject({ code: -32603, data: { "mic-mcp/error": { kind: "forbidden", status: 403 } } });
  });

  test("an unknown field is reported with the resource", async () => {
    const { jobId } = await bench().argumentsFor("getMicJob");
    await bench().service.injectFault({ kind: "extra-field" }, { operationId: "getMicJob" });
    const { meta } = await bench().connection.readResource(`mic://jobs/${jobId}`);
    expect(meta).toEqual({ "mic-mcp/drift": ["/data/emulatorExtraField"] });
  });

  test("URI variables have completions from the data of the server", async () => {
    const job = await submitJob(bench().service, FILE.succeeds);
    const { complete } = bench().connection;
    const completionsFor = (uri: string, name: string, value: string) =>
      complete({ type: "ref/resource", uri }, name, value);
    const states = "mic://geography/states/{code}/districts";
    expect(await completionsFor(states, "code", "k")).toEqual(expect.arrayContaining(["KA", "KL"]));
    expect((await completionsFor(states, "code", "t")).slice(0, 3)).toEqual(["TG", "TN", "TR"]);
    expect(await completionsFor(states, "code", "karnat")).toEqual(["KA"]);
    expect(await completionsFor(states, "code", "no such state")).toEqual([]);
    // Without a default workspace, jobs are completed only from this server's own actions.
    const args = await bench().argumentsFor("createMicPublicInput");
    const { structured } = await bench().ok("register_input", args);
    const { id } = Object(structured["data"]);
    expect(await completionsFor("mic://inputs/{inputId}", "inputId", id)).toEqual([id]);
    expect(await completionsFor("mic://jobs/{jobId}", "jobId", job.id)).toEqual([]);
    expect(await completionsFor("mic://jobs/{jobId}", "nothing", "")).toEqual([]);
    await expect(completionsFor("mic://nothing/{x}", "x", "")).rejects.toThrow(/mic:\/\/nothing/);
  });

  test("results link the resource that they describe, and the link can be read", async () => {
    const { workspaceId } = bench();
    const linked = [
      await bench().ok("list_states"),
      await bench().ok("list_districts", { state: "GA" }),
      await bench().ok("list_jobs", { workspaceId }),
      await bench().ok("list_recipes", { workspaceId }),
    ];
    for (const id of [
      "getMicPublicInput",
      "getMicExecutableRecipe",
      "getMicJob",
      "createMicJob",
      "cancelMicJob",
    ] as const)
      linked.push(await bench().ok(operations[id].tool, await bench().argumentsFor(id)));
    const { links } = await bench().call("list_actions");
    expect(links).toEqual(["mic://actions"]);
    for (const { link = "", structured } of linked) {
      const { text } = await bench().connection.readResource(link);
      const { id } = Object(structured["data"]);
      if (id !== undefined) expect(JSON.parse(text)).toMatchObject({ id });
    }
    expect((await bench().ok("get_usage", await bench().argumentsFor("getMicPublicUsage"))).link).toBeUndefined();
  });

  test("a default workspace has its jobs and recipes listed and completed", async () => {
    const { emulator } = bench().service;
    const { workspaceId, recipeVersionIds } = emulator;
    const connection = await inProcessClientForTest(clientRevision, {
      ...emulatorEnv(emulator),
      MIC_WORKSPACE_ID: workspaceId,
    });
    const listed = (await connection.listResources()).map(({ uri }) => uri);
    expect(listed).toEqual([
      "mic://geography/states",
      `mic://workspaces/${workspaceId}/jobs`,
      `mic://workspaces/${workspaceId}/recipes`,
      CATALOG_URI,
      "mic://actions",
      ...SKILLS,
    ]);
    const { id } = await submitJob(bench().service, FILE.succeeds);
    const completionsFor = (uri: string, name: string, value: string) =>
      connection.complete({ type: "ref/resource", uri }, name, value);
    expect(await completionsFor("mic://jobs/{jobId}", "jobId", id)).toEqual([id]);
    expect(await completionsFor("mic://workspaces/{workspaceId}/jobs", "workspaceId", "mic")).toEqual([workspaceId]);
    expect(await completionsFor("mic://recipes/{versionId}", "versionId", recipeVersionIds[0] ?? "")).toEqual([
      recipeVersionIds[0],
    ]);
  });

  test("toolsets apply to resources and prompts, and read-only mode keeps those that only read", async () => {
    const env = emulatorEnv(bench().service.emulator);
    const geography = await inProcessClientForTest(clientRevision, { ...env, MIC_TOOLSETS: "geography" });
    const [ofGeography] = SKILLS;
    expect((await geography.listResources()).map(({ uri }) => uri)).toEqual([
      "mic://geography/states",
      CATALOG_URI,
      ofGeography,
    ]);
    expect((await geography.listTemplates()).map(({ uriTemplate }) => uriTemplate)).toEqual([TEMPLATES[0]]);
    expect((await geography.listPrompts()).map(({ name }) => name)).toEqual(["geography_question"]);
    await expect(geography.readResource("mic://actions")).rejects.toThrow("mic://actions");
    const readOnly = await inProcessClientForTest(clientRevision, { ...env, MIC_READ_ONLY: "1" });
    expect((await readOnly.listTemplates()).map(({ uriTemplate }) => uriTemplate)).toEqual(TEMPLATES);
    expect((await readOnly.listPrompts()).map(({ name }) => name)).toEqual(["diagnose_job", "geography_question"]);
  });
});
