// Tests resources over the protocol: their list, their content compared with their tool, missing resources and errors.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { resources } from "../../../src/toolkit/resources/index.ts";
import { expand, matchTemplate, variableNames } from "../../../src/toolkit/uri.ts";
import { tools } from "../../../tools/index.ts";
import { FILE, submitJob } from "../../emulator/work.ts";
import { type OperationId, operations } from "../../operations.ts";
import { emulatorEnv, inProcessClientForTest } from "../../support/mcp.ts";
import { words } from "../../support/words.ts";
import { describeEachRevisionInProcess } from "../../tools/revisions.ts";

// The list of docs/use/resources.md, "Resources".
const TEMPLATES = words(`
  mic://geography/states/{code}/districts mic://workspaces/{workspaceId}/jobs mic://workspaces/{workspaceId}/recipes
  mic://jobs/{jobId} mic://recipes/{versionId} mic://inputs/{inputId} mic://operations/{operationId}
  mic://processing-requests/{requestId}`);
const STATES_URI = "mic://geography/states";
const CATALOG_URI = "mic://geography/catalogue.tsv";
const PROMPTS = ["run_job", "diagnose_job", "retry_failed_jobs", "geography_question"];
/** test/mcp/skills tests their content. */
const SKILLS = ["answer-geography", "retry-safely", "run-a-job"].map((name) => `skill://${name}/SKILL.md`);

const ProtocolError = z.looseObject({ code: z.number(), message: z.string(), data: z.unknown() });

test("each resource names a tool, and its URI matches only its own template", () => {
  const toolNames: readonly string[] = tools.map(({ name }) => name);
  for (const { uri, tool } of resources) {
    expect(toolNames, uri).toContain(tool);
    const values = Object.fromEntries(variableNames(uri).map((name) => [name, "a/b %?#é"]));
    const matching = resources.filter((each) => matchTemplate(each.uri, expand(uri, values)) !== undefined);
    expect(matching.map((each) => each.uri)).toEqual([uri]);
    expect(matchTemplate(uri, expand(uri, values))).toEqual(values);
  }
  const others = words("mic://jobs mic://jobs/ mic://jobs/a/b mic://jobs/%zz mic://jobs/a?b http://jobs/a");
  for (const uri of others) expect(matchTemplate("mic://jobs/{jobId}", uri), uri).toBeUndefined();
});

describeEachRevisionInProcess((bench, clientRevision) => {
  const isModern = clientRevision === "v2-modern";
  const read = (uri: string) => bench().connection.readResource(uri);
  const connectWith = (env: Readonly<Record<string, string>>) =>
    inProcessClientForTest(clientRevision, { ...emulatorEnv(bench().service.emulator), ...env });

  async function readError(uri: string) {
    const error: unknown = await read(uri).catch((thrown: unknown) => thrown);
    return ProtocolError.parse({ ...Object(error), message: Object(error).message });
  }

  test.each([
    [{}, [STATES_URI, CATALOG_URI, "mic://actions", ...SKILLS], TEMPLATES, PROMPTS],
    [
      { MIC_TOOLSETS: "geography" },
      [STATES_URI, CATALOG_URI, SKILLS[0]],
      TEMPLATES.slice(0, 1),
      ["geography_question"],
    ],
    [
      { MIC_READ_ONLY: "1" },
      [STATES_URI, CATALOG_URI, "mic://actions", SKILLS[0]],
      TEMPLATES,
      ["diagnose_job", "geography_question"],
    ],
    [
      { MIC_WORKSPACE_ID: "micws_1" },
      [
        ...[STATES_URI, "mic://workspaces/micws_1/jobs", "mic://workspaces/micws_1/recipes", CATALOG_URI],
        ...["mic://actions", ...SKILLS],
      ],
      TEMPLATES,
      PROMPTS,
    ],
  ])(
    "the configuration decides which resources, templates and prompts are listed: %j",
    async (env, uris, templates, prompts) => {
      const connection = await connectWith(env);
      expect((await connection.listResources()).map(({ uri }) => uri)).toEqual(uris);
      const listed = await connection.listTemplates();
      expect(listed.map(({ uriTemplate }) => uriTemplate)).toEqual(templates);
      for (const { title, description } of listed)
        expect([title, description]).toEqual([expect.stringMatching(/^[A-Z]/), expect.stringMatching(/\.$/)]);
      expect((await connection.listPrompts()).map(({ name }) => name)).toEqual(prompts);
      if (!uris.includes("mic://actions"))
        await expect(connection.readResource("mic://actions")).rejects.toThrow("mic://actions");
    },
  );

  test("each resource has the content that its tool reads, without the envelope", async () => {
    const { workspaceId } = bench();
    const cases: readonly (readonly [template: string, tool: string, args: OperationId | Record<string, string>])[] = [
      [STATES_URI, "list_states", {}],
      ["mic://geography/states/{state}/districts", "list_districts", { state: "KA" }],
      ["mic://geography/states/{state}/districts", "list_districts", { state: "ka" }],
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
      const uri = expand(template, z.record(z.string(), z.string()).parse(args));
      const { mimeType, text, ttlMs, cacheScope } = await read(uri);
      expect(mimeType).toBe("application/json");
      const { structured } = await bench().call(tool, args);
      const { page: _page, ...content } = JSON.parse(text);
      const { page: _itsPage, summary, ...result } = Object(structured);
      const isGeography = template.includes("geography");
      // A geography tool shows the rows of the contract's body by their codes.
      if (isGeography) {
        const rows: readonly { readonly code: string }[] = content.states ?? content.districts;
        expect(rows.map(({ code }) => code).sort()).toEqual(Object.keys(result.states ?? result.districts).sort());
        expect(content).toHaveProperty("source");
      } else expect(content, uri).toEqual(isOne ? result.data : { summary, ...result });
      expect(ttlMs !== undefined).toBe(isModern);
      expect(cacheScope).toBe(isModern ? (isGeography ? "public" : "private") : undefined);
    }
  });

  test("the catalogue is one table, with coverage and vintage in its first line", async () => {
    const connection = await connectWith({ MIC_GEOGRAPHY_RATE_LIMIT: "600" });
    const { mimeType, text } = await connection.readResource(CATALOG_URI);
    expect(mimeType).toBe("text/tab-separated-values");
    const [note, header, ...rows] = text.trimEnd().split("\n");
    expect(note).toMatch(/^# Vintage: 2026-05-25, complete, /);
    expect(header).toBe("districtCode\tname\tstateCode\tstateName\tmandalCount");
    expect(rows).toHaveLength(784);
    expect(rows).toContain("516\tNizamabad\tTG\tTelangana\t33");
  });

  test("a missing resource returns the protocol's resource-not-found error with its URI", async () => {
    const missing = words(`
      mic://jobs/no-such-job mic://inputs/micinput_0 mic://operations/nothing mic://recipes/not-even-an-id
      mic://recipes/micrecipev_${"0".repeat(32)} mic://processing-requests/micsharedrequest_${"0".repeat(32)}
      mic://geography/states/ZZ/districts mic://geography/states/KARNATAKA/districts mic://geography/elephants
      mic://jobs/.. mic://jobs/%FF`);
    for (const uri of missing) {
      const message = expect.stringContaining(uri.endsWith("not-even-an-id") ? "versionId" : uri);
      expect(await readError(uri)).toMatchObject({ code: isModern ? -32602 : -32002, message, data: { uri } });
    }
  });

  test("an answer that violates the contract is reported, and so are unknown fields and other errors", async () => {
    const { jobId } = await bench().argumentsFor("getMicJob");
    const uri = `mic://jobs/${jobId}`;
    const body = '{"data":{"id":5},"meta":{"requestId":"r"}}';
    await bench().service.injectFault({ kind: "body", body }, { operationId: "getMicJob" });
    expect(await readError(uri)).toMatchObject({
      code: -32603,
      message: expect.stringContaining("/data/id"),
      data: { uri, "mic-mcp/error": { kind: "contract_violation", sideEffect: "none" } },
    });
    await bench().service.injectFault({ kind: "extra-field" }, { operationId: "getMicJob" });
    expect((await read(uri)).meta).toEqual({ "mic-mcp/drift": ["/data/emulatorExtraField"] });
    const forbidden = await readError("mic://workspaces/micws_other/jobs");
    expect(forbidden).toMatchObject({ code: -32603, data: { "mic-mcp/error": { kind: "forbidden", status: 403 } } });
  });

  test("URI variables have completions from the data of the server", async () => {
    const { complete } = bench().connection;
    const completionsFor = (uri: string, name: string, value: string) =>
      complete({ type: "ref/resource", uri }, name, value);
    const states = "mic://geography/states/{code}/districts";
    expect(await completionsFor(states, "code", "k")).toEqual(expect.arrayContaining(["KA", "KL"]));
    expect((await completionsFor(states, "code", "t")).slice(0, 3)).toEqual(["TG", "TN", "TR"]);
    expect(await completionsFor(states, "code", "karnat")).toEqual(["KA"]);
    expect(await completionsFor(states, "code", "no such state")).toEqual([]);
    // Without a default workspace, only this server's own actions provide completions.
    const { id: jobId } = await submitJob(bench().service, FILE.succeeds);
    const { structured } = await bench().ok("register_input", await bench().argumentsFor("createMicPublicInput"));
    const { id } = Object(structured["data"]);
    expect(await completionsFor("mic://inputs/{inputId}", "inputId", id)).toEqual([id]);
    expect(await completionsFor("mic://jobs/{jobId}", "jobId", jobId)).toEqual([]);
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
    const ids = ["getMicPublicInput", "getMicExecutableRecipe", "getMicJob", "createMicJob", "cancelMicJob"] as const;
    for (const id of ids) linked.push(await bench().ok(operations[id].tool, await bench().argumentsFor(id)));
    for (const { link = "", structured } of linked) {
      const { text } = await read(link);
      const { id } = Object(structured["data"]);
      if (id !== undefined) expect(JSON.parse(text)).toMatchObject({ id });
    }
    expect((await bench().call("list_actions")).links).toEqual(["mic://actions"]);
    expect((await bench().ok("get_usage", await bench().argumentsFor("getMicPublicUsage"))).link).toBeUndefined();
  });
});
