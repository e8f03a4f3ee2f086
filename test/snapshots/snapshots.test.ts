// Tests every text that an agent reads, by tool and state, against reviewed pages (`npm run fix` writes them). It also tests
// rules for all of them: a refused call did not take effect, each nextStep is a valid call, and no state in which a skill says
// "stop" leads back to polling.
import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { isJsonObject } from "../../src/contract/json.ts";
import { AGENT, fixed, render } from "../../src/core/text.ts";
import { tools } from "../../tools/index.ts";
import { createExampleData } from "../emulator/example.ts";
import { countTokens } from "../support/count-tokens.ts";
import { validCall } from "../tools/catalogue.ts";
import { type RecordedResult, renderPage } from "./page.ts";
import { recordScenario, type Scenario } from "./recorder.ts";
import { actionScenarios } from "./scenarios/actions.ts";
import { fewCallsScenarios } from "./scenarios/few-calls.ts";
import { geographyScenarios } from "./scenarios/geography.ts";
import { jobScenarios } from "./scenarios/jobs.ts";
import { viewScenarios } from "./scenarios/views.ts";
import { workspaceScenarios } from "./scenarios/workspace.ts";

/** A tool without its own scenario in scenarios/ is recorded once, with its sample call (test/tools/catalogue.ts). */
const sampleScenario =
  (tool: string): Scenario =>
  async (recorder) => {
    await recorder.record("A call", await validCall(tool, await createExampleData(recorder.service)));
  };

const scenarios: Readonly<Record<string, Scenario>> = {
  ...Object.fromEntries(tools.map(({ name }) => [name, sampleScenario(name)])),
  ...geographyScenarios,
  ...workspaceScenarios,
  ...jobScenarios,
  ...actionScenarios,
  ...fewCallsScenarios,
  ...viewScenarios,
};

/** The tools whose pages show the errors that are the same for all reads, for those of a workspace, and for all actions. */
const REFERENCES = ["get_operation", "get_usage", "cancel_job"];

const recordings = new Map<string, Promise<readonly RecordedResult[]>>();

let previous: Promise<unknown> = Promise.resolve();

function recordedStates(tool: string, scenario: Scenario): Promise<readonly RecordedResult[]> {
  const states = recordings.get(tool) ?? previous.then(() => recordScenario(tool, scenario));
  recordings.set(tool, states);
  previous = states.catch(() => undefined);
  return states;
}

for (const [tool, scenario] of Object.entries(scenarios))
  test(`${tool} returns the reviewed texts`, async () => {
    const earlierTools = REFERENCES.includes(tool) ? REFERENCES.slice(0, REFERENCES.indexOf(tool)) : REFERENCES;
    const earlier = await Promise.all(earlierTools.map((name) => recordedStates(name, scenarios[name] ?? scenario)));
    const page = renderPage(tool, await recordedStates(tool, scenario), earlier.flat());
    await expect(page, "not as before: npm run fix writes it; review the change").toMatchFileSnapshot(`${tool}.md`);
  });

const Step = z.looseObject({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) });
type Step = z.infer<typeof Step>;

function stepsIn(value: unknown): readonly Step[] {
  if (Array.isArray(value)) return value.flatMap(stepsIn);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, part]) => (name === "nextStep" ? [Step.parse(part)] : stepsIn(part)));
}

function endOfObject(text: string, from: number): number {
  for (let end = text.indexOf("}", from); end >= 0; end = text.indexOf("}", end + 1))
    try {
      JSON.parse(text.slice(from, end + 1));
      return end + 1;
    } catch {
      // This brace is inside the object.
    }
  throw new Error(`no JSON object: ${text.slice(from, from + 80)}`);
}

const CALL = new RegExp(`\\b(${tools.map(({ name }) => name).join("|")}) (?=\\{")`, "g");

/** The complete calls in the text, such as those after "Next:". */
const callsIn = (text: string): readonly Step[] =>
  [...text.matchAll(CALL)].map(({ 0: match, 1: tool = "", index }) => {
    const from = index + match.length;
    return {
      tool,
      arguments: z.record(z.string(), z.unknown()).parse(JSON.parse(text.slice(from, endOfObject(text, from)))),
    };
  });

const ajv = new Ajv({ strict: false, validateFormats: false });
const judges = new Map(
  tools.map((tool) => {
    const { required, ...schema } = { required: [], ...tool.inputSchema() };
    return [String(tool.name), ajv.compile({ ...schema, required: z.array(z.string()).parse(required) })];
  }),
);

function callProblem({ tool, arguments: args }: Step): string | undefined {
  const validate = judges.get(tool);
  if (!validate) return `there is no tool ${tool}`;
  // An action's key can replace all its other arguments.
  if (Object.keys(args).join() === "idempotencyKey") return undefined;
  return validate(args) ? undefined : `${tool}: ${ajv.errorsText(validate.errors)}`;
}

const skills = ["run-a-job", "retry-safely"].map((name) => readFileSync(`skills/${name}/SKILL.md`, "utf8"));
/** The states for which a table in the skills says to stop. */
const STOP_STATES = new Set(
  skills
    .flatMap((skill) => [...skill.matchAll(/^\s*\| ([A-Z_]+(?:, [A-Z_]+)*) \| (.*) \|$/gm)])
    .filter(([, , advice = ""]) => /\bstop\b/.test(advice))
    .flatMap(([, states = ""]) => states.split(", ")),
);
const FINAL_STATES = new Set(["SUCCEEDED", "FAILED", "CANCELLED"]);

const Answer = z.looseObject({
  nextStep: Step.optional(),
  data: z.looseObject({ id: z.string().optional(), state: z.string().optional() }).optional(),
  jobs: z.array(z.looseObject({ state: z.string().optional() })).optional(),
});

/** Returns the polling step of a result for which polling is useless: each resource has ended or is in a stop state. */
function uselessPollingStep(structured: unknown): Step | undefined {
  const { nextStep, data, jobs } = Answer.safeParse(structured).data ?? {};
  if (nextStep === undefined) return undefined;
  const needsNoPolling = (state: string | undefined): boolean =>
    state !== undefined && (STOP_STATES.has(state) || FINAL_STATES.has(state));
  const isPolling = /^(get_|wait_for_)/.test(nextStep.tool);
  const isSameResource = data?.id !== undefined && Object.values(nextStep.arguments).includes(data.id);
  if (isPolling && isSameResource && needsNoPolling(data.state)) return nextStep;
  const allStill = jobs !== undefined && jobs.length > 0 && jobs.every(({ state }) => needsNoPolling(state));
  return nextStep.tool === "wait_for_jobs" && allStill ? nextStep : undefined;
}

/** Kinds of errors after which nothing can have taken effect. */
const NO_EFFECT_KINDS = ["invalid_arguments", "not_configured", "unauthorized", "forbidden", "not_found", "rejected"];

const Summary = z.looseObject({ summary: z.string() });

const Meta = z.looseObject({ "mic-mcp/error": z.looseObject({ kind: z.string(), sideEffect: z.string() }).optional() });

/** Whether a skill says to stop in the state that the result shows. */
function isStopped(structured: unknown): boolean {
  const state = Answer.safeParse(structured).data?.data?.state;
  return state !== undefined && STOP_STATES.has(state);
}

const offeredCalls = ({ structured, text }: RecordedResult) => [...stepsIn(structured), ...callsIn(text)];

/** Results with fewer tokens are not compared: their few fields outweigh any text. */
const MIN_COMPARED_TOKENS = 200;
/** Maximum tokens of structuredContent, as a multiple of the text's. */
const MAX_RATIO = 1.6;

/** "1.82" if structuredContent has too many tokens. The full view has the API's own objects, with all their fields. */
function excessiveRatio({ structured, text, arguments: args }: RecordedResult): string | undefined {
  const tokens = countTokens(JSON.stringify(structured ?? ""));
  const ratio = (tokens / countTokens(text)).toFixed(2);
  return tokens < MIN_COMPARED_TOKENS || Number(ratio) <= MAX_RATIO || args["view"] === "full" ? undefined : ratio;
}

/** Each rule, and the function that finds its violations in a result. */
const RULES: readonly (readonly [rule: string, findViolations: (result: RecordedResult) => readonly unknown[]])[] = [
  [
    "a refused call never reports that it took effect",
    ({ meta, text }) => {
      const { "mic-mcp/error": failure } = Meta.parse(meta);
      if (failure === undefined || !NO_EFFECT_KINDS.includes(failure.kind)) return [];
      return failure.sideEffect !== "none" || /took effect|has taken effect/i.test(text) ? [text] : [];
    },
  ],
  [
    "each next step and each call in a text is valid",
    (result) => offeredCalls(result).flatMap((step) => callProblem(step) ?? []),
  ],
  [
    "no next step waits for a resource that is in a state in which a skill says to stop",
    ({ structured }) => [uselessPollingStep(structured) ?? []].flat(),
  ],
  [
    "no text advises to wait in a state in which a skill says to stop",
    ({ structured, text }) => (isStopped(structured) && /waitSeconds/.test(text) ? [text] : []),
  ],
  [
    `structuredContent of ${MIN_COMPARED_TOKENS} tokens or more has at most ${MAX_RATIO} times the tokens of the text`,
    (result) => [excessiveRatio(result) ?? []].flat(),
  ],
  [
    "on a server with few tools, the summary of a job, an input or an action still states what happened",
    ({ structured }) => {
      const { summary } = Summary.safeParse(structured).data ?? {};
      const shown = summary === undefined ? undefined : render(fixed(summary), { ...AGENT, isOffered: () => false });
      // Each sentence begins as a sentence does.
      return shown === undefined || /^["\dA-Za-z]/.test(shown) ? [] : [summary];
    },
  ],
  [
    "no offered call has waitSeconds: 0",
    (result) => offeredCalls(result).filter(({ arguments: args }) => args["waitSeconds"] === 0),
  ],
  [
    "a text that advises RESTART states that the user is asked first",
    ({ structured, text }) =>
      stepsIn(structured).some(({ arguments: args }) => args["retryMode"] === "RESTART") && !/ask/i.test(text)
        ? [text]
        : [],
  ],
];

const collectResults = async (): Promise<readonly RecordedResult[]> =>
  (await Promise.all(Object.entries(scenarios).map(([tool, scenario]) => recordedStates(tool, scenario)))).flat();

test("the recordings include texts, errors and next steps, and the skills name the states to stop in", async () => {
  const results = await collectResults();
  expect(results.filter(({ meta }) => Meta.parse(meta)["mic-mcp/error"] !== undefined).length).toBeGreaterThan(50);
  expect(results.flatMap(({ structured }) => stepsIn(structured)).length).toBeGreaterThan(40);
  expect([...STOP_STATES].sort()).toEqual(["PAUSED", "QUARANTINED", "WAITING_REVIEW", "WITHDRAWN"]);
});

test.each(RULES)("%s", async (_rule, findViolations) => {
  const violations = (await collectResults()).flatMap((result) =>
    findViolations(result).map((violation) => ({ tool: result.tool, state: result.state, violation })),
  );
  expect(violations).toEqual([]);
});
