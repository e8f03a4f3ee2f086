// Arguments of the tools that act: at, under and over each bound of docs/contract.md, 4.2, and of each key grammar.
import { expect } from "vitest";
import { proves } from "../proves.ts";
import {
  anyId,
  anyText,
  type Bounds,
  expectBounds,
  hex64,
  inputKey,
  integer,
  oneOf,
  pathId,
  plainText,
  prefixed,
  processingKey,
  scalarText,
  textKey,
  utcInstant,
  WIDE,
  workspaceStyleId,
} from "./arguments.ts";
import type { Bench } from "./bench.ts";
import { forEachEra } from "./eras.ts";

const reason = plainText(1000);
const recipeVersionId = prefixed("micrecipev_");

const binding = (port: unknown, inputId: unknown = "input"): Record<string, unknown> => ({ port, inputId });
const bindings = (count: number): unknown => Array.from({ length: count }, (_, at) => binding(`p${at}`, `i${at}`));

/** A job with these bindings, refused at each pointer. */
async function refusesBindings(bench: Bench, inputBindings: unknown, ...pointers: readonly string[]): Promise<void> {
  const args = await bench.argumentsFor("createMicJob");
  await bench.refuses("submit_job", { ...args, inputBindings }, ...pointers);
}

forEachEra((bench) => {
  proves(
    [
      "4.2/input-ids",
      "4.2/input-kind",
      "4.2/input-reference-file",
      "4.2/input-alias-and-client-reference",
      "4.2/input-key",
    ],
    "register_input",
    () =>
      expectBounds(bench(), "createMicPublicInput", {
        workspaceId: anyId,
        inputKind: oneOf("M4_FILE", "ACQUISITION", "DATASET_VERSION"),
        referenceId: {
          takes: ["devfile_a", "devsignfile_a", `devfile_${"a".repeat(120)}`],
          refuses: ["a", "micinput_a", "xdevfile_a", `devfile_${"a".repeat(121)}`, ...anyId.refuses],
        },
        alias: anyText(160),
        clientReference: anyText(160),
        idempotencyKey: inputKey,
      }),
  );

  proves(
    [
      "4.2/job-ids",
      "4.2/job-input-bindings",
      "4.2/job-parameter-values",
      "4.2/job-client-reference",
      "4.2/job-key-length",
      "4.2/job-key-characters",
    ],
    "submit_job",
    () =>
      expectBounds(bench(), "createMicJob", {
        workspaceId: workspaceStyleId,
        recipeVersionId,
        inputBindings: { takes: [bindings(1), bindings(32)], refuses: [[], bindings(33), null, {}, "[]", 1] },
        parameterValues: { takes: [{}, { a: { b: [null, 1.5, "c"] } }], refuses: [null, [], "{}", 1, true] },
        clientReference: withNull(plainText(160)),
        idempotencyKey: textKey,
      }),
  );

  proves(
    [
      "4.2/job-input-binding-port",
      "4.2/job-input-binding-input-id",
      "4.2/job-input-bindings-unique",
      "4.2/bodies-closed",
    ],
    "submit_job's input bindings",
    async () => {
      await bench().sendsNothing(async () => {
        const ports = ["", "1a", "_a", "-a", "a.b", "a b", "é", `a${"b".repeat(80)}`, 1, null, true, {}];
        for (const port of ports) await refusesBindings(bench(), [binding(port)], "/inputBindings/0/port");
        for (const id of workspaceStyleId.refuses)
          await refusesBindings(bench(), [binding("a", id)], "/inputBindings/0/inputId");
        await refusesBindings(bench(), [binding("a"), binding("b", "other"), binding("a", "third")], "/inputBindings");
        await refusesBindings(bench(), [binding("a"), binding("b")], "/inputBindings");
        await refusesBindings(bench(), [{ ...binding("a"), plan: 1 }], "/inputBindings/0/plan");
        await refusesBindings(bench(), [{ port: "a" }], "/inputBindings/0/inputId");
        await refusesBindings(bench(), [{ inputId: "a" }], "/inputBindings/0/port");
        await refusesBindings(bench(), ["a"], "/inputBindings/0");
      });
      const args = await bench().argumentsFor("createMicJob");
      const taken = [binding("a", "i1"), binding(`A${"b".repeat(79)}`, "i2"), binding("a-b_C9", "i3")];
      const { error } = await bench().call("submit_job", { ...args, inputBindings: taken });
      // The service read it and found that the recipe has no such ports.
      expect(error).toMatchObject({ kind: "rejected", code: "PORTS_MISMATCH" });
    },
  );

  proves(["4.2/reason", "4.2/job-key-length", "4.2/job-key-characters", "4.2/if-match-form"], "cancel_job", () =>
    expectBounds(bench(), "cancelMicJob", {
      jobId: pathId,
      reason,
      resourceVersion: integer(1, Number.MAX_SAFE_INTEGER),
      idempotencyKey: textKey,
    }),
  );

  proves(["4.2/reason", "4.2/retry-mode", "4.2/job-key-length", "4.2/job-key-characters"], "retry_job", () =>
    expectBounds(bench(), "retryMicJob", {
      jobId: pathId,
      retryMode: oneOf("SAFE_RESUME", "RESTART"),
      reason,
      idempotencyKey: textKey,
    }),
  );

  proves(
    [
      "4.2/processing-request-ids",
      "4.2/processing-request-recipe-version-hash",
      "4.2/processing-request-purpose",
      "4.2/processing-request-expires-at",
      "4.2/processing-request-key",
    ],
    "request_file_processing",
    () =>
      expectBounds(bench(), "requestMicSharedFileProcessing", {
        workspaceId: workspaceStyleId,
        inputId: prefixed("micinput_"),
        recipeVersionId,
        recipeVersionHash: hex64,
        purpose: scalarText(160),
        expiresAt: utcInstant,
        idempotencyKey: processingKey,
      }),
  );

  proves("4.2/input-reference-file", "what is no file may be named in any way", async () => {
    for (const inputKind of ["ACQUISITION", "DATASET_VERSION"])
      for (const referenceId of anyId.takes ?? []) {
        const args = { workspaceId: bench().workspaceId, inputKind, referenceId };
        const failed = await bench().fails("register_input", args, "rejected");
        expect(failed).toMatchObject({ status: 422, code: "REFERENCE_NOT_FOUND" });
      }
  });

  proves("4.2/reason", "a reason is counted in UTF-16 units", async () => {
    const args = await bench().argumentsFor("retryMicJob");
    await bench().refuses("retry_job", { ...args, reason: WIDE.repeat(501) }, "/reason");
  });
});

/** The contract takes null here as well. */
const withNull = ({ takes = [], refuses }: Bounds): Bounds => ({
  takes: [...takes, null],
  refuses: refuses.filter((value) => value !== null),
});
