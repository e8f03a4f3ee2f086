// Tests the arguments of every tool (docs/contract.md, 4): invalid, missing and unknown ones are refused before anything is sent.
import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { tools } from "../../tools/index.ts";
import { changeAt } from "../contract/check.ts";
import { argumentsOf, badValues, type Field, fieldsOf, goodValues } from "../fields.ts";
import { rows } from "../operations.ts";
import type { CallResult } from "../support/results.ts";
import { words } from "../support/words.ts";
import type { Args } from "./bench.ts";
import { OWN_TOOLS, POST_TOOLS, validCall } from "./catalogue.ts";
import { describeLatestRevision } from "./revisions.ts";

const textOf = (value: unknown): string =>
  String(value ?? "")
    .trim()
    .toUpperCase();
const instantOf = (text: string): number =>
  Date.parse(/^[-\d]+$|Z$|[+-]\d\d:\d\d$/.test(text) ? text : `${text.replace(" ", "T")}Z`);

/** Whether a rewritten value has the same meaning: in another form, lowered to the maximum, or left out. accepted-forms.test.ts has the forms. */
function isSameMeaning(value: unknown, exact: unknown): boolean {
  const [text, exactText] = [textOf(value), textOf(exact)];
  const isLowered = typeof exact === "number" && exact > 0 && Number(value) > exact;
  return (
    text === exactText || isLowered || (exact === undefined && value === 0) || instantOf(text) === instantOf(exactText)
  );
}

const withValue = (args: Args, { name }: Field, value: unknown): Args => ({
  ...args,
  ...(name.includes(".") ? Object(changeAt(args, name.split("."), () => value)) : { [name]: value }),
});

/** Whether the API could receive the value: a URL has no lone surrogates, and its length is limited. */
const canBeSent = ({ location }: Field, value: unknown): boolean =>
  typeof value !== "string" ||
  (location !== "path" && location !== "query") ||
  (!/\p{Cs}/u.test(value) &&
    encodeURIComponent(value).length <= 8000 &&
    !(location === "path" && /^\.\.?$/.test(value)));

/** Asserts that the API received the call and did not refuse it as malformed; other errors do not matter here. */
function expectSent({ error, text }: CallResult, what: string): void {
  // The key is valid, but belongs to an action of another tool's test.
  if (error === undefined || (error.kind === "conflict" && text.includes("The key "))) return;
  // Checks of the server that go beyond the grammar: a recipe offer that another test read, and the time.
  if (/fit the recipe|\[IN_THE_PAST\]/.test(text)) return;
  // Only answers of the API have a status.
  expect(error.status, what).toBeDefined();
  if (error.code !== "INVALID_CURSOR") expect(error.status, what).not.toBe(400);
}

const port = "p";
const referenceId = "devfile_1";
const createdSince = "2026-11-22";
const many = (count: number) => Array.from({ length: count }, (_, at) => at);

/** For tools over several operations: invalid changes to a valid call, and the pointers of the error. accepted-forms.test.ts has more. */
const WRONG: Readonly<Record<string, readonly (readonly [Args, ...(readonly string[])])[]>> = {
  run_job: [
    [
      {
        workspaceId: "a b",
        recipeVersionId: "recipe",
        clientReference: " ",
        waitSeconds: 0.5,
        idempotencyKey: "short",
      },
      ...["/workspaceId", "/recipeVersionId", "/clientReference", "/waitSeconds", "/idempotencyKey"],
    ],
    [{ inputs: [{ port: "1", referenceId, inputKind: "FILE" }] }, "/inputs/0/port", "/inputs/0/inputKind"],
    [{ inputs: [{ port, referenceId, alias: "a" }] }, "/inputs/0/alias"],
    [{ inputs: many(33).map((at) => ({ port: `p${at}`, inputId: `x${at}` })) }, "/inputs"],
    [{ parameterValues: "[]" }, "/parameterValues"],
  ],
  retry_jobs: [
    [{ jobIds: [] }, "/jobIds"],
    [{ jobIds: "[micjob_a]" }, "/jobIds"],
    [{ jobIds: many(51).map((at) => `micjob_${at}`) }, "/jobIds"],
    [{ jobIds: ["micjob_a", ""] }, "/jobIds/1"],
    [{ retryMode: "AGAIN", reason: " " }, "/retryMode", "/reason"],
    [{ waitSeconds: -1, idempotencyKey: "short" }, "/waitSeconds", "/idempotencyKey"],
    [{ failureCode: "OTHER" }, "/jobIds"],
    [{ jobIds: undefined, createdSince }, "/workspaceId"],
  ],
  wait_for_jobs: [
    [{ jobIds: many(51).map((at) => `micjob_${at}`) }, "/jobIds"],
    [{ jobIds: [1] }, "/jobIds/0"],
    [{ until: "most", waitSeconds: -1, workspaceId: "x" }, "/until", "/waitSeconds", "/workspaceId"],
  ],
  rank_divisions: [
    [{ by: "name", max: 3 }, "/max"],
    [{ level: "country", by: "rank", limit: -1, order: "up" }, "/level", "/by", "/limit", "/order"],
    [{ level: "state", by: "name", perState: 1 }, "/perState"],
    [{ level: "state", by: "name", startsWith: "!?" }, "/startsWith"],
  ],
  resolve_actions: [
    [{ jobId: "job-1" }, "/jobId"],
    [{ outcome: "none" }, "/outcome"],
    [{ cursor: "x" }, "/cursor"],
    [{ idempotencyKey: "mic-1", jobId: "job-1", outcome: "none" }, "/outcome"],
  ],
  find_district: [
    [{ name: undefined, names: many(51).map(() => "Goa") }, "/names"],
    [{ name: undefined, names: ["Goa", "x", "y".repeat(81)] }, "/names/1", "/names/2"],
  ],
};

/** Without a window, get_usage reads those that the API has. register_input registers a file as one. */
const isOptionalInTool = (tool: string, name: string): boolean =>
  (tool === "get_usage" && name === "window") || (tool === "register_input" && name === "inputKind");

const isAction = (tool: string): boolean => POST_TOOLS.includes(tool);

describeLatestRevision((bench) => {
  test.each(Object.keys(OWN_TOOLS))("%s names each invalid or missing argument, and sends nothing", async (tool) => {
    const args = await validCall(tool, await bench().world());
    await bench().expectNothingSent(async () => {
      for (const [change, ...pointers] of WRONG[tool] ?? [])
        await bench().refuses(tool, { ...args, ...change }, ...pointers);
      const required = OWN_TOOLS[tool]?.required ?? [];
      for (const name of required) await bench().refuses(tool, { ...args, [name]: undefined }, `/${name}`);
    });
  });

  for (const row of rows)
    for (const argument of argumentsOf(row))
      test(`${row.tool}: ${argument.name}`, async () => {
        const args = await bench().argumentsFor(row.id);
        const pointer = `/${argument.name.replaceAll(".", "/")}`;
        // In a path, `.` and `..` would lead to another path.
        const unlisted = [
          ...badValues(argument.values).filter((value) => value !== null || !isOptionalInTool(row.tool, argument.name)),
          ...(argument.location === "path" ? [".", ".."] : []),
        ];
        const exactOf = (value: unknown): unknown => {
          const exact = tools.find(({ name }) => name === row.tool)?.toExact(withValue(args, argument, value));
          return argument.name.split(".").reduce<unknown>((parent, name) => Object(parent)[name], exact?.arguments);
        };
        const isRewritten = (value: unknown): boolean => !isDeepStrictEqual(exactOf(value), value);
        const refused = async (value: unknown): Promise<void> => {
          const { fieldErrors = [], text } = await bench().refuses(row.tool, withValue(args, argument, value));
          expect(
            fieldErrors.some((one) => one.pointer.startsWith(pointer)),
            text,
          ).toBe(true);
        };
        await bench().expectNothingSent(async () => {
          for (const value of unlisted) if (!isRewritten(value)) await refused(value);
        });
        for (const value of unlisted.filter(isRewritten)) {
          const result = await bench().call(row.tool, withValue(args, argument, value));
          const what = `${JSON.stringify(value)?.slice(0, 300)}: ${result.text}`;
          if (argument.name === "workspaceId" && result.error?.kind === "not_configured") continue;
          if (result.error?.kind === "invalid_arguments" && result.error.status === undefined) {
            await refused(value);
            continue;
          }
          expect(isSameMeaning(value, exactOf(value)), what).toBe(true);
          expectSent(result, what);
        }
        for (const value of goodValues(argument.values)) {
          if (!canBeSent(argument, value)) continue;
          const fine = argument.isIndependent ? await bench().argumentsFor(row.id) : args;
          const result = await bench().call(row.tool, withValue(fine, argument, value));
          if (argument.isIndependent) expect(result.error, result.text).toBeUndefined();
          expectSent(result, `${JSON.stringify(value).slice(0, 300)}: ${result.text}`);
        }
      });

  test("the refusal of an unknown argument names it and the valid ones, unless it is a near miss", {
    tags: ["4.1/closed-query", "4.2/closed-query", "4.2/bodies-closed"],
  }, async () => {
    const nearMisses = words("state states status since query district districts name Limit id workspaceIds");
    const unknown = [...nearMisses, ...words("until filter bogus a/b~c constructor")];
    await bench().expectNothingSent(async () => {
      for (const { name: tool, argumentNames, toExact } of tools.filter((each) => each.argumentNames.length > 0))
        for (const argument of unknown.filter((each) => !argumentNames.includes(each))) {
          if (Object.keys(toExact({ [argument]: "x" }).arguments).every((name) => argumentNames.includes(name))) {
            expect(nearMisses, `${tool} ${argument}`).toContain(argument);
            expect(isAction(tool), `${tool} ${argument}`).toBe(false);
            continue;
          }
          const pointer = `/${argument.replaceAll("~", "~0").replaceAll("/", "~1")}`;
          const { text } = await bench().refuses(tool, { [argument]: "x" }, pointer);
          const [, meant] = /unknown argument; use (\w+)/.exec(text) ?? [];
          if (meant === undefined) for (const name of argumentNames) expect(text, tool).toContain(name);
          else expect(argumentNames, `${tool} ${argument}`).toContain(meant);
        }
      const planned = [{ port: "a", inputId: "b", plan: 1 }];
      await bench().refuses("submit_job", { inputBindings: planned }, "/inputBindings/0/plan");
    });
  });

  test("a tool without arguments ignores unknown ones, and reports them", { tags: ["4.1/closed-query"] }, async () => {
    for (const { name: tool } of tools.filter(({ argumentNames }) => argumentNames.length === 0)) {
      const plain = await bench().captureRequests(() => bench().ok(tool));
      const { result, sent } = await bench().capture(() => bench().ok(tool, { bogus: 1, constructor: "x" }));
      expect(result.structured["summary"]).toMatch(
        /^Ignored unknown arguments "bogus", "constructor": the tool takes no arguments\. /,
      );
      expect(sent.map(({ path }) => path)).toEqual(plain.map(({ path }) => path));
    }
  });

  test("arguments that hosts add are ignored without a note, and are not part of an action", async () => {
    const added = { wait_for_previous: true, toolCallId: "call_1", tool: "x" };
    for (const { name } of tools)
      expect((await bench().call(name, added)).text, name).not.toMatch(/Ignored|wait_for_previous|toolCallId/);
    const job = { ...(await bench().argumentsFor("createMicJob")), idempotencyKey: null };
    expect(await bench().idFrom("submit_job", { ...job, ...added })).toBe(await bench().idFrom("submit_job", job));
  });

  test("each missing required argument is named", async () => {
    for (const row of rows) {
      const args = await bench().argumentsFor(row.id);
      const required = fieldsOf(row).filter(({ name, isOptional }) => !isOptional && !isOptionalInTool(row.tool, name));
      await bench().expectNothingSent(async () => {
        const topLevel = required.filter(({ name }) => !name.includes("."));
        if (topLevel.length > 0) await bench().refuses(row.tool, {}, ...topLevel.map(({ name }) => `/${name}`));
        for (const { name } of required) {
          const path = name.split(".");
          const rest = changeAt(args, path.slice(0, -1), (parent) =>
            Object.fromEntries(Object.entries(Object(parent)).filter(([field]) => field !== path.at(-1))),
          );
          const { fieldErrors } = await bench().refuses(row.tool, Object(rest), `/${path.join("/")}`);
          expect(fieldErrors).toHaveLength(1);
        }
      });
    }
  });
});
