// The snapshots agree with themselves, with the skills and with the listed tools: what was refused did not take effect, each nextStep is a valid
// call, and no state in which a skill says "stop" leads back to polling.
import { readdirSync, readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import * as z from "zod/v4";
import { isJsonObject } from "../../src/contract/json.ts";
import { tools } from "../../tools/index.ts";

const WAITS =
  "advice.ts still offers to wait for a review or a pause; that wait is removed when such jobs return at once";

/** Snapshots that a later change corrects: rule and place, with the reason. An entry that is no longer needed fails the test. */
const KNOWN: Readonly<Record<string, string>> = {
  "polling | run_job: A person has to review it": WAITS,
  "waiting | get_job: WAITING_REVIEW": WAITS,
  "waiting | get_job: PAUSED": WAITS,
  "waiting | run_job: A person has to review it": WAITS,
};

interface Shown {
  /** Page and heading. */
  readonly where: string;
  readonly text: string;
  readonly structured: unknown;
  readonly failure: { readonly kind: string; readonly sideEffect: string } | undefined;
}

const Meta = z.looseObject({ "mic-mcp/error": z.looseObject({ kind: z.string(), sideEffect: z.string() }).optional() });

/** The content of the fenced block that follows `before`. */
function blockAfter(before: RegExp, section: string): string | undefined {
  const at = before.exec(section);
  return at ? /^(`{3,})\w*\n([\s\S]*?)\n\1$/m.exec(section.slice(at.index))?.[2] : undefined;
}

function shownOn(page: string): readonly Shown[] {
  const [, ...sections] = readFileSync(`test/golden/${page}`, "utf8").split(/^## /m);
  return sections.map((section) => {
    const [heading = ""] = section.split("\n", 1);
    const structured = blockAfter(/^structuredContent, /m, section);
    const meta = blockAfter(/^`_meta`:$/m, section);
    const text = blockAfter(/^(Fails\. )?The text, /im, section);
    if (text === undefined) throw new Error(`${page}, ${heading}: no text`);
    return {
      where: `${page.slice(0, -3)}: ${heading}`,
      text,
      structured: structured === undefined ? undefined : JSON.parse(structured),
      failure: meta === undefined ? undefined : Meta.parse(JSON.parse(meta))["mic-mcp/error"],
    };
  });
}

const shown = readdirSync("test/golden")
  .filter((file) => file.endsWith(".md"))
  .flatMap(shownOn);

interface Step {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}
const Step = z.looseObject({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) });

/** Each nextStep, however deep. */
function stepsIn(value: unknown): readonly Step[] {
  if (Array.isArray(value)) return value.flatMap(stepsIn);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, part]) => (name === "nextStep" ? [Step.parse(part)] : stepsIn(part)));
}

/** The end of the JSON object that begins at `from`. */
function endOfObject(text: string, from: number): number {
  for (let end = text.indexOf("}", from); end >= 0; end = text.indexOf("}", end + 1))
    try {
      JSON.parse(text.slice(from, end + 1));
      return end + 1;
    } catch {
      // A brace inside of it.
    }
  throw new Error(`no JSON object: ${text.slice(from, from + 80)}`);
}

const CALL = new RegExp(`\\b(${tools.map(({ name }) => name).join("|")}) (?=\\{")`, "g");

/** The complete calls in the text, such as those behind "Next:". */
const callsIn = (text: string): readonly Step[] =>
  [...text.matchAll(CALL)].map(({ 0: whole, 1: tool = "", index }) => {
    const from = index + whole.length;
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

/** What is wrong with a call; undefined if it can be made as it is. */
function faultOf({ tool, arguments: args }: Step): string | undefined {
  const judge = judges.get(tool);
  if (!judge) return `there is no tool ${tool}`;
  // An action's key alone stands for its other arguments.
  if (Object.keys(args).join() === "idempotencyKey") return undefined;
  return judge(args) ? undefined : `${tool}: ${ajv.errorsText(judge.errors)}`;
}

const skills = ["run-a-job", "retry-safely"].map((name) => readFileSync(`skills/${name}/SKILL.md`, "utf8"));
/** The states in the rows of the skills' tables that say to stop. */
const STOP = new Set(
  skills
    .flatMap((skill) => [...skill.matchAll(/^\s*\| ([A-Z_]+(?:, [A-Z_]+)*) \| (.*) \|$/gm)])
    .filter(([, , advice = ""]) => /\bstop\b/.test(advice))
    .flatMap(([, states = ""]) => states.split(", ")),
);
const ENDED = new Set(["SUCCEEDED", "FAILED", "CANCELLED"]);

const Answer = z.looseObject({
  nextStep: Step.optional(),
  data: z.looseObject({ id: z.string().optional(), state: z.string().optional() }).optional(),
  jobs: z.array(z.looseObject({ state: z.string().optional() })).optional(),
});

/** The polling call that an answer offers although all that it could wait for has ended or needs a person. */
function pollsInVain(structured: unknown): Step | undefined {
  const { nextStep, data, jobs } = Answer.safeParse(structured).data ?? {};
  if (nextStep === undefined) return undefined;
  const isStill = (state: string | undefined): boolean => state !== undefined && (STOP.has(state) || ENDED.has(state));
  const polls = /^(get_|wait_for_)/.test(nextStep.tool);
  const itself = data?.id !== undefined && Object.values(nextStep.arguments).includes(data.id);
  if (polls && itself && isStill(data.state)) return nextStep;
  const all = jobs !== undefined && jobs.length > 0 && jobs.every(({ state }) => isStill(state));
  return nextStep.tool === "wait_for_jobs" && all ? nextStep : undefined;
}

/** Kinds of failure after which nothing can have taken effect. */
const REFUSED = ["invalid_arguments", "not_configured", "unauthorized", "forbidden", "not_found", "rejected"];

describe("every snapshot", () => {
  /** By place; the known ones are named apart, so that an entry which is no longer needed fails, too. */
  const expectNone = (faults: readonly (readonly [string, unknown])[], rule: string): void => {
    const known = Object.keys(KNOWN).filter((key) => key.startsWith(`${rule} | `));
    const found = faults.map(([where, fault]) => ({ key: `${rule} | ${where}`, fault }));
    expect(found.filter(({ key }) => !known.includes(key))).toEqual([]);
    expect(known.filter((key) => !found.some((each) => each.key === key))).toEqual([]);
  };

  test("is read: texts, results and failures", () => {
    expect(shown.length).toBeGreaterThan(150);
    expect(shown.filter(({ structured }) => structured !== undefined).length).toBeGreaterThan(80);
    expect(shown.filter(({ failure }) => failure !== undefined).length).toBeGreaterThan(50);
    expect(shown.flatMap(({ structured }) => stepsIn(structured)).length).toBeGreaterThan(40);
    expect([...STOP].sort()).toEqual(["PAUSED", "QUARANTINED", "WAITING_REVIEW", "WITHDRAWN"]);
  });

  test("of a refused call never says that it took effect", () => {
    const faults = shown
      .filter(({ failure }) => failure !== undefined && REFUSED.includes(failure.kind))
      .filter(({ failure, text }) => failure?.sideEffect !== "none" || /took effect|has taken effect/i.test(text))
      .map(({ where, text }) => [where, text] as const);
    expectNone(faults, "took effect");
  });

  test("has only next steps and calls that can be made as they are", () => {
    const faults = shown.flatMap(({ where, structured, text }) =>
      [...stepsIn(structured), ...callsIn(text)].flatMap((step) => {
        const fault = faultOf(step);
        return fault === undefined ? [] : [[where, fault] as const];
      }),
    );
    expectNone(faults, "next step");
  });

  test("of a state in which a skill says to stop offers no call that waits for it", () => {
    const faults = shown.flatMap(({ where, structured }) => {
      const step = pollsInVain(structured);
      return step === undefined ? [] : [[where, step] as const];
    });
    expectNone(faults, "polling");
  });

  test("of a state in which a skill says to stop does not advise to wait for it", () => {
    const faults = shown.flatMap(({ where, structured, text }) => {
      const state = Answer.safeParse(structured).data?.data?.state;
      return state !== undefined && STOP.has(state) && /waitSeconds/.test(text) ? [[where, text] as const] : [];
    });
    expectNone(faults, "waiting");
  });

  test("that advises RESTART says that the user is asked first", () => {
    const faults = shown.flatMap(({ where, structured, text }) =>
      stepsIn(structured).some(({ arguments: args }) => args["retryMode"] === "RESTART") && !/ask/i.test(text)
        ? [[where, text] as const]
        : [],
    );
    expectNone(faults, "restart");
  });
});
