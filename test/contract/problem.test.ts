import { describe } from "vitest";
import { FieldError, Problem } from "../../src/contract/problem.ts";
import { proves } from "../proves.ts";
import { boolean, integer, list, text } from "./field-rules.ts";
import { objectUnderTest } from "./object-rules.ts";
import * as samples from "./samples.ts";

describe("Problem", () => {
  const problem = objectUnderTest(Problem, samples.problem);
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields", problem.isExactlyItsFields());
  proves("2.2/problem-texts", "type", problem.fields({ type: text(1, 512) }));
  proves("2.2/problem-texts", "title", problem.fields({ title: text(1, 160) }));
  proves("2.2/problem-status", "status", problem.fields({ status: integer(400, 599) }));
  proves("2.2/problem-texts", "code", problem.fields({ code: text(1, 100) }));
  proves("2.2/problem-texts", "requestId", problem.fields({ requestId: text(1, 128) }));
  proves("2.2/problem-retryable", "retryable", problem.fields({ retryable: boolean }));
  proves(
    "2.2/problem-field-errors",
    "fieldErrors",
    problem.fields({ fieldErrors: list(0, 100, () => samples.fieldError) }),
  );
  problem.everyFieldHasARule();
});

describe("a field error", () => {
  const fieldError = objectUnderTest(FieldError, samples.fieldError);
  proves("2.2/problem-field-error", "has exactly its fields", fieldError.isExactlyItsFields());
  proves(
    "2.2/problem-field-error",
    "pointer, code, message",
    fieldError.fields({ pointer: text(0, 512), code: text(1, 100), message: text(1, 1000) }),
  );
  fieldError.everyFieldHasARule();
});
