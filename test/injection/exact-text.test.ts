// Tests that text of the API appears unchanged, or as its JSON string, also if it resembles the server's own words: in the agent's text, in
// structuredContent, in the data of a view and in the output of a command, whichever tools are offered.
import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { quoteForShell } from "../../src/cli/tool-arguments.ts";
import { stubEnv } from "../api-client/client.ts";
import * as samples from "../contract/samples.ts";
import { runInProcess } from "../support/command.ts";
import { connectInProcess } from "../support/mcp.ts";
import { answer, stubForFile } from "../support/stub.ts";
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
const READS: readonly (readonly [tool: string, args: Readonly<Record<string, unknown>>])[] = [
  ["get_recipe", { recipeVersionId: samples.createJob.recipeVersionId }],
  ["get_recipe", { recipeVersionId: samples.createJob.recipeVersionId, view: "full" }],
  ["list_recipes", { workspaceId }],
  ["get_job", { jobId: "job-1" }],
  ["get_job", { jobId: "job-1", view: "full" }],
  ["list_jobs", { workspaceId }],
  ["list_jobs", { workspaceId, view: "full" }],
  ["wait_for_jobs", { jobIds: ["job-1"], waitSeconds: 0 }],
];

let tokens = 0;

/** Makes the API answer with these texts. Returns those that it has sent, by their marker. */
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
    return refusing
      ? createRefusal("bare", texts, 422)
      : answer(endpoint.success.status, createSuccess(endpoint, scenario, texts).body);
  });
  return sent;
}

const jsonBody = (text: string): string => JSON.stringify(text).slice(1, -1);

function expectExact(output: string, sent: ReadonlyMap<string, string>, isForShell = false): void {
  for (const { 0: marker, index } of output.matchAll(/\bm\d+x\b/g)) {
    const text = sent.get(marker) ?? "";
    const inShell = isForShell ? [quoteForShell(text).replace(/^'/, "")] : [];
    // The text of a result is itself a string in JSON.
    const forms = [text, jsonBody(text), jsonBody(jsonBody(text)), ...inShell];
    const isExact = forms.some((form) => output.startsWith(form, index));
    expect(isExact, `${text}\n--- in ---\n${output}`).toBe(true);
  }
}

test.each(CONFIGURATIONS)("text of the API is shown as it is, with %j", async (configuration) => {
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  onTestFinished(() => random.mockRestore());
  const env = { ...stubEnv({ baseUrl: stubOf().baseUrl }), ...configuration };
  const client = await connectInProcess("v2-modern", { env });
  onTestFinished(() => client.close());
  const property = fc.asyncProperty(pools, scenarios, fc.boolean(), async (pool, scenario, refusing) => {
    for (const [tool, args] of READS) {
      const sent = respondWith(pool, scenario, refusing);
      const { text, structured, meta, isError } = await client.callTool(tool, args);
      for (const output of [text, JSON.stringify(structured ?? {}), JSON.stringify(meta)]) expectExact(output, sent);
      if (tool === "get_recipe" && !refusing) {
        expect(isError, text).toBe(false);
        const [name] = /(?<=^Recipe ")m\d+x/.exec(text) ?? [];
        expect(name, `no sentence about the recipe: ${text}`).toBeDefined();
      }
      const again = respondWith(pool, scenario, refusing);
      const { stdout, stderr } = await runInProcess(["call", tool, "--input", JSON.stringify(args)], { env });
      expectExact(`${stdout}${stderr}`, again, true);
    }
  });
  await fc.assert(property, { seed: 20261129, numRuns: 10 });
});
