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
const codeSpansIn = (text: string): readonly string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, quoted = ""]) => quoted.replace(/\s*\n\s*/g, " "));

const ToolSchema = z.looseObject({ properties: z.record(z.string(), z.looseObject({})) });
const toolNames: readonly string[] = tools.map(({ name }) => name);
const propertiesOf = (name: string) => {
  const schema = tools.find((tool) => tool.name === name)?.inputSchema();
  return schema === undefined ? {} : ToolSchema.parse(schema).properties;
};

/** Words in capitals that are not states. */
const OTHER_CAPITALS = words("M4_FILE SAFE_RESUME RESTART SKILL JSON UP TN KL READY UT API");

const FIELDS = words(`
  nextStep summary action.replayed createdId retriedBy retryable totalRows totals complete ambiguous matches
  certainty vintage createdYear restored carvedFrom unlisted mandalCount kind since via data.id data.state data.outputDatasetVersionId
  data.recipe.inputs[].name data.recipe.parameters.definition`);

const KNOWN_WORDS = new Set([
  ...[...toolNames, ...toolNames.flatMap((name) => Object.keys(propertiesOf(name))), ...FIELDS],
  // Fields of answers without all lists (test/tools/rank-divisions.test.ts), and kinds of errors.
  ...["coverage", "coverage.missing", "consistency", "invalid_arguments", "rejected", "outcome_unknown"],
  ...[...InputState.options, ...JobState.options, ...OTHER_CAPITALS],
]);

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
    const named = new Set(quoted.map((part) => part.split(" ")[0] ?? "").filter((word) => toolNames.includes(word)));
    expect([...named].sort()).toEqual([...declared].sort());
    expect(named.size).toBeGreaterThan(1);
  });

  test("the calls that a skill shows match the parameters of the tools", () => {
    const calls = callsIn(quoted);
    expect(calls.length).toBeGreaterThan(2);
    for (const { tool, args } of calls) {
      expect(toolNames).toContain(tool);
      const properties = propertiesOf(tool);
      const parsedArgs: object = JSON.parse(args.replaceAll("[…]", "[]").replaceAll("{…}", "{}"));
      for (const [argument, value] of Object.entries(parsedArgs)) {
        expect(Object.keys(properties), tool).toContain(argument);
        // The tool must accept each value without an ellipsis.
        const options = properties[argument]?.["enum"];
        if (options !== undefined && !JSON.stringify(value).includes("…")) expect(options).toContain(value);
      }
    }
  });

  test("a skill names no tool, argument, field, error or state that does not exist", () => {
    const quotedWords = quoted.filter((part) => /^[a-z][\w.[\]]*$/i.test(part));
    const capitalizedWords = [...body.matchAll(/\b[A-Z][A-Z_0-9]+\b/g)].map(([word]) => word);
    expect([...quotedWords, ...capitalizedWords].filter((word) => !KNOWN_WORDS.has(word))).toEqual([]);
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
      const calls = names.flatMap((name) => callsIn(codeSpansIn(textOf(name))));
      const completeCalls = calls.filter(({ args }) => !args.includes("…"));
      expect(completeCalls.length).toBeGreaterThan(8);
      for (const { tool, args } of completeCalls) {
        // The lists of all states take too long; partial results are enough here.
        const added = Object.entries({ workspaceId: bench().workspaceId, waitSeconds: 0 });
        const accepted = added.filter(([name]) => name in propertiesOf(tool));
        await bench().ok(tool, { ...JSON.parse(args), ...Object.fromEntries(accepted) });
        bench().clock.advance(60_000);
      }
    });

    test("the fields that skills name are in real results", async () => {
      bench().clock.advance(60_000);
      const { id: jobId } = await createRetryableJob(bench().service);
      const { workspaceId, recipeVersionIds, fileIds } = bench().service.emulator;
      const paths = new Set<string>();
      // A skill may name a field without its path.
      for (const [tool, args] of [
        ["get_recipe", { versionId: recipeVersionIds[0] }],
        ["get_job", { jobId, view: "full" }],
        ["register_input", { workspaceId, inputKind: "M4_FILE", referenceId: fileIds[FILE.succeeds] }],
        ["retry_job", { jobId, retryMode: "SAFE_RESUME", reason: "to be listed" }],
        ["list_actions", { limit: 5 }],
        ["list_jobs", { workspaceId }],
        ["list_jobs", { workspaceId, view: "full" }],
        ["rank_divisions", { level: "district", by: "mandalCount", waitSeconds: 0 }],
        ["rank_divisions", { level: "district", by: "name", createdSince: 2015 }],
        ["find_district", { names: ["Allahabad", "Alahabad", "Hamirpur"] }],
      ] as const)
        for (const path of pathsIn((await bench().call(tool, args)).structured, ""))
          for (const name of [path, path.split(".").at(-1) ?? ""]) paths.add(name);
      expect(FIELDS.filter((field) => !paths.has(field))).toEqual([]);
    });
  },
  { env: { MIC_GEOGRAPHY_RATE_LIMIT: "600" } },
);
