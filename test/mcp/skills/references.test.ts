// Tests the skills against the real tools: each tool, argument, field, state and error that a skill names exists.
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as z from "zod/v4";
import { InputState } from "../../../src/contract/inputs.ts";
import { JobState } from "../../../src/contract/jobs.ts";
import { tools } from "../../../tools/index.ts";
import { createRetryableJob, FILE } from "../../emulator/work.ts";
import { words } from "../../support/words.ts";
import { describeLatestRevision } from "../../tools/revisions.ts";

const names = readdirSync("skills");
const textOf = (name: string): string => readFileSync(`skills/${name}/SKILL.md`, "utf8");
/** The texts in backticks. */
const codeSpansIn = (text: string): readonly string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, quoted = ""]) => quoted.replace(/\s*\n\s*/g, " "));

const ToolSchema = z.looseObject({ properties: z.record(z.string(), z.looseObject({})) });
const toolOf = (name: string) => tools.find((tool) => tool.name === name);
const propertiesOf = (name: string): readonly string[] =>
  Object.keys(ToolSchema.parse(toolOf(name)?.inputSchema()).properties);

const allArguments = new Set(tools.flatMap(({ name }) => propertiesOf(name)));
const FAILURES = ["invalid_arguments", "rejected", "outcome_unknown"];
/** Words in capitals that are not states. */
const OTHER_CAPITALS = ["M4_FILE", "SAFE_RESUME", "RESTART", "SKILL", "JSON", "UP", "TN", "KL", "READY", "UT"];

/** Fields of results that the skills name. */
const FIELDS = words(`
  nextStep summary action.replayed resourceId retriedBy retryable totalRows totals exact ambiguous matches consistency
  certainty vintage made partOf unlisted mandalCount kind since via data.id data.state data.outputDatasetVersionId
  data.recipe.inputs[].name data.recipe.parameters.definition`);

/** Fields of answers without all lists (test/tools/geography-catalogs.test.ts). */
const INCOMPLETE_FIELDS = ["coverage", "coverage.missing"];

test("there are three skills", () => {
  expect(names.sort()).toEqual(["answer-geography", "retry-safely", "run-a-job"]);
});

/** The tool calls in code spans; their arguments may contain ellipses. */
function callsIn(quoted: readonly string[]): readonly { readonly tool: string; readonly args: string }[] {
  return quoted.flatMap((part) => {
    const [, tool = "", args = ""] = /^([a-z]+(?:_[a-z]+)+) (\{.*\})$/.exec(part) ?? [];
    return tool === "" ? [] : [{ tool, args }];
  });
}

describe.each(names)("%s", (name) => {
  const text = textOf(name);
  const [, frontmatter = "", body = ""] = text.split(/^---$/m);
  const quoted = codeSpansIn(body);

  test("the frontmatter of a skill lists exactly the tools that the skill names", () => {
    const declared = /^ {2}tools: (.+)$/m.exec(frontmatter)?.[1]?.split(" ") ?? [];
    const named = new Set(quoted.map((part) => part.split(" ")[0] ?? "").filter((word) => toolOf(word)));
    expect([...named].sort()).toEqual([...declared].sort());
    expect(named.size).toBeGreaterThan(1);
  });

  test("the calls that a skill shows match the parameters of the tools", () => {
    const calls = callsIn(quoted).map(({ tool, args }) => ({
      tool,
      args: JSON.parse(args.replaceAll("[…]", "[]").replaceAll("{…}", "{}")),
    }));
    expect(calls.length).toBeGreaterThan(2);
    for (const { tool, args } of calls) {
      expect(toolOf(tool), tool).toBeDefined();
      for (const argument of Object.keys(args)) expect(propertiesOf(tool), tool).toContain(argument);
      // The tool must accept each value without an ellipsis.
      const { properties } = ToolSchema.parse(toolOf(tool)?.inputSchema());
      for (const [argument, value] of Object.entries(args)) {
        const options = properties[argument]?.["enum"];
        if (options !== undefined && !JSON.stringify(value).includes("…")) expect(options).toContain(value);
      }
    }
  });

  test("a skill names no tool, argument, field or error that does not exist", () => {
    const known = new Set([
      ...tools.map((tool) => tool.name),
      ...allArguments,
      ...FAILURES,
      ...FIELDS,
      ...INCOMPLETE_FIELDS,
    ]);
    const words = quoted.filter((part) => /^[a-z][\w.[\]]*$/i.test(part));
    expect(words.filter((word) => !known.has(word))).toEqual([]);
  });

  test("a skill names no state that does not exist", () => {
    const states: readonly string[] = [...InputState.options, ...JobState.options, ...OTHER_CAPITALS];
    const capitalizedWords = new Set([...body.matchAll(/\b[A-Z][A-Z_0-9]+\b/g)].map(([word]) => word));
    expect([...capitalizedWords].filter((word) => !states.includes(word))).toEqual([]);
  });

  test("a skill is short and has a section with prohibitions", () => {
    expect(text.length).toBeLessThan(4_000);
    expect(body).toMatch(/^# [A-Z]/m);
    expect(body).toMatch(/^## Never$/m);
    for (const [, uri = ""] of body.matchAll(/(skill:\/\/[\w/.-]+\.md)/g))
      expect(names.map((each) => `skill://${each}/SKILL.md`)).toContain(uri);
  });
});

/** Yields every path in a value, for example `data.recipe.inputs[].name`. */
function* pathsIn(value: unknown, path: string): Generator<string> {
  yield path;
  if (Array.isArray(value)) for (const item of value) yield* pathsIn(item, `${path}[]`);
  else if (typeof value === "object" && value !== null)
    for (const [name, part] of Object.entries(value)) yield* pathsIn(part, path === "" ? name : `${path}.${name}`);
}

describeLatestRevision(
  (bench) => {
    test("the calls of skills that need no ids succeed", async () => {
      const completeCalls = names
        .flatMap((name) => callsIn(codeSpansIn(textOf(name))))
        .filter(({ args }) => !args.includes("…"));
      expect(completeCalls.length).toBeGreaterThan(8);
      for (const { tool, args } of completeCalls) {
        const workspace = propertiesOf(tool).includes("workspaceId") ? { workspaceId: bench().workspaceId } : {};
        // The lists of all states take too long; partial results are enough here.
        const noWait = propertiesOf(tool).includes("waitSeconds") ? { waitSeconds: 0 } : {};
        await bench().ok(tool, {
          ...z.record(z.string(), z.unknown()).parse(JSON.parse(args)),
          ...workspace,
          ...noWait,
        });
        bench().clock.advance(60_000);
      }
    });

    test("the fields that skills name are in real results", async () => {
      bench().clock.advance(60_000);
      const job = await createRetryableJob(bench().service);
      const { workspaceId, recipeVersionIds, fileIds } = bench().service.emulator;
      const resume = { jobId: job.id, retryMode: "SAFE_RESUME", reason: "to be listed" };
      const calls = [
        ["get_recipe", { versionId: recipeVersionIds[0] }],
        ["get_job", { jobId: job.id, view: "full" }],
        ["register_input", { workspaceId, inputKind: "M4_FILE", referenceId: fileIds[FILE.succeeds] }],
        ["retry_job", resume],
        ["list_actions", { limit: 5 }],
        ["list_jobs", { workspaceId }],
        ["list_jobs", { workspaceId, view: "full" }],
        ["rank_divisions", { level: "district", by: "mandalCount", waitSeconds: 0 }],
        ["rank_divisions", { level: "district", by: "name", createdSince: 2015 }],
        ["find_district", { names: ["Allahabad", "Alahabad", "Hamirpur"] }],
      ] as const;
      const answers = [];
      for (const [tool, args] of calls) answers.push(await bench().call(tool, args));
      const paths = new Set(answers.flatMap(({ structured }) => [...pathsIn(structured, "")]));
      const lastSegments = [...paths].map((path) => path.split(".").at(-1));
      const missing = FIELDS.filter(
        (field) => !paths.has(field) && !(!field.includes(".") && lastSegments.includes(field)),
      );
      expect(missing).toEqual([]);
    });
  },
  { env: { MIC_GEOGRAPHY_RATE: "600" } },
);
