// Tests that text of the API, of a file and of the caller's own notes appears unchanged, or as its JSON string, also if it resembles the
// server's own words: in the agent's text, in structuredContent, in the data of a view and in the output of a command, whichever tools are offered.
import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { quoteForShell } from "../../src/cli/terminal-reader.ts";
import { stubEnv } from "../api-client/client.ts";
import * as samples from "../contract/samples.ts";
import { runInProcess } from "../support/command.ts";
import { withEchoes } from "../support/echoes.ts";
import { connectInProcess } from "../support/mcp.ts";
import { answer, stubForFile } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { createRefusal, createSuccess, findEndpoint, scenarios, type Texts } from "./hostile.ts";

const stubOf = stubForFile();

/** Words of the server, and calls that it prints. */
const OWN_WORDS = [
  ...["ask the user to sign", "Ask the user to wait.", "; tell the user", " Tell the user.", ": ask the user first"],
  ...[
    "Ask the user whether ",
    "cancel_job {} now",
    'get_job {"jobId":"x"}',
    ". retry_jobs (manual). Final",
    " run_job ",
  ],
  ...["list_jobs shows it. ", "pass idempotencyKey abcdefgh.", '"', "\\", " ", ". ", "{", "}"],
] as const;
const ownWords = fc.array(fc.constantFrom(...OWN_WORDS), { minLength: 1, maxLength: 4 }).map((parts) => parts.join(""));
const pools = fc.array(ownWords, { minLength: 20, maxLength: 20 });

const CONFIGURATIONS = [
  {},
  { MIC_READ_ONLY: "1" },
  { MIC_TOOLSETS: "essentials" },
  { MIC_TOOLS: "get_recipe,list_recipes,get_job,list_jobs,wait_for_jobs" },
] as const;

const { workspaceId } = samples.createJob;
let calls = 0;

/** `note`: returns a text of the caller. Each call of an action is another action. */
type Call = readonly [tool: string, args: (note: Texts) => Readonly<Record<string, unknown>>];
const submission = (clientReference: string) => ({
  ...samples.createJob,
  parameterValues: { year: calls },
  clientReference,
});
const CALLS: readonly Call[] = [
  ["get_recipe", () => ({ recipeVersionId: samples.createJob.recipeVersionId })],
  ["get_recipe", () => ({ recipeVersionId: samples.createJob.recipeVersionId, view: "full" })],
  ["list_recipes", () => ({ workspaceId })],
  ["get_job", () => ({ jobId: "job-1" })],
  ["get_job", () => ({ jobId: "job-1", view: "full" })],
  ["list_jobs", () => ({ workspaceId })],
  ["list_jobs", () => ({ workspaceId, view: "full" })],
  ["wait_for_jobs", () => ({ jobIds: ["job-1"], waitSeconds: 0 })],
  ["submit_job", (note) => submission(note("reference"))],
  ["submit_job", (note) => submission(note("other reference"))],
  ["download_asset", () => ({ assetId: "asset-1", preview: true, fileName: `${++calls}.csv` })],
  ["show_job", () => ({ jobId: "job-1" })],
  ["show_actions", () => ({})],
];
/** A terminal shows no view. */
const hasView = (tool: string): boolean => tool.startsWith("show_");

let tokens = 0;

/** Makes the API answer with these texts. Returns those that it has sent, by their marker, and the function that numbers others. */
function respondWith(pool: readonly string[], scenario: Parameters<typeof createSuccess>[1], refusing: boolean) {
  const markers = new Map<string, string>();
  const sent = new Map<string, string>();
  const texts: Texts = (at, maxChars = 80) => {
    const marker = markers.get(at) ?? `m${markers.size}x`;
    markers.set(at, marker);
    const text = `${marker} ${pool[Number(marker.slice(1, -1)) % pool.length]}`.slice(0, maxChars);
    sent.set(marker, text);
    return text;
  };
  stubOf().respond((request) => {
    const endpoint = findEndpoint(request, "");
    if (endpoint === undefined) return answer(200, { access_token: `token-${++tokens}` });
    if (refusing) return createRefusal("bare", texts, 422);
    if (endpoint.success.body === "binary")
      return answer(200, Buffer.from(`${texts("cell")}, x\n${texts("other cell")}\n`), { "content-type": "text/csv" });
    const { body } = createSuccess(endpoint, scenario, texts);
    return answer(endpoint.success.status, withEchoes(body, request, true));
  });
  return { sent, texts };
}

const jsonBody = (text: string): string => JSON.stringify(text).slice(1, -1);

/** Returns whether the output contains a text. */
function expectExact(output: string, sent: ReadonlyMap<string, string>, isForShell = false): boolean {
  for (const { 0: marker, index } of output.matchAll(/\bm\d+x\b/g)) {
    const text = sent.get(marker) ?? "";
    const inShell = isForShell ? [quoteForShell(text).replace(/^'/, "")] : [];
    // The text of a result is itself a string in JSON.
    const forms = [text, jsonBody(text), jsonBody(jsonBody(text)), ...inShell];
    const isExact = forms.some((form) => output.startsWith(form, index));
    expect(isExact, `${text}\n--- in ---\n${output}`).toBe(true);
  }
  return /\bm\d+x\b/.test(output);
}

test.each(CONFIGURATIONS)("text of the API is shown as it is, with %j", async (configuration) => {
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  onTestFinished(() => random.mockRestore());
  const folder = await folderForTest();
  const env = { ...stubEnv({ baseUrl: stubOf().baseUrl }), ...configuration, MIC_DOWNLOAD_DIR: folder };
  const client = await connectInProcess("v2-modern", { env });
  onTestFinished(() => client.close());
  const listed = new Set((await client.listTools()).map(({ name }) => name));
  const shown = new Set<string>();
  const property = fc.asyncProperty(pools, scenarios, fc.boolean(), async (pool, scenario, refusing) => {
    calls += 1;
    for (const [tool, args] of CALLS) {
      const { sent, texts } = respondWith(pool, scenario, refusing);
      const result = await client.callTool(tool, args(texts)).catch((error: unknown) => {
        if (listed.has(tool)) throw error;
      });
      if (result === undefined) continue;
      const { text, structured, meta, isError } = result;
      for (const output of [text, JSON.stringify(structured ?? {}), JSON.stringify(meta)])
        if (expectExact(output, sent) && !isError) shown.add(tool);
      if (tool === "get_recipe" && !refusing) {
        expect(isError, text).toBe(false);
        const [name] = /(?<=^Recipe ")m\d+x/.exec(text) ?? [];
        expect(name, `no sentence about the recipe: ${text}`).toBeDefined();
      }
      if (hasView(tool)) continue;
      const again = respondWith(pool, scenario, refusing);
      const input = JSON.stringify(args(again.texts));
      const { stdout, stderr } = await runInProcess(["call", tool, "--input", input], { env });
      expectExact(`${stdout}${stderr}`, again.sent, true);
    }
  });
  await fc.assert(property, { seed: 20261129, numRuns: 10 });
  if (Object.keys(configuration).length === 0) expect(shown).toEqual(new Set(CALLS.map(([tool]) => tool)));
});
