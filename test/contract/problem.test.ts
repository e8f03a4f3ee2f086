import { describe } from "vitest";
import { FieldError, Problem } from "../../src/contract/problem.ts";
import { boolean, integer, list, text } from "./field-rules.ts";
import { objectUnderTest } from "./object-rules.ts";
import * as samples from "./samples.ts";

describe("Problem", () => {
  const { proves } = objectUnderTest(Problem, samples.problem);
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields");
  proves("2.2/problem-texts", { type: text(1, 512) });
  proves("2.2/problem-texts", { title: text(1, 160) });
  proves("2.2/problem-status", { status: integer(400, 599) });
  proves("2.2/problem-texts", { code: text(1, 100) });
  proves("2.2/problem-texts", { requestId: text(1, 128) });
  proves("2.2/problem-retryable", { retryable: boolean });
  proves("2.2/problem-field-errors", { fieldErrors: list(0, 100, () => samples.fieldError) });
});

describe("a field error", () => {
  const { proves } = objectUnderTest(FieldError, samples.fieldError);
  proves("2.2/problem-field-error", "has exactly its fields");
  proves("2.2/problem-field-error", { pointer: text(0, 512), code: text(1, 100), message: text(1, 1000) });
});
