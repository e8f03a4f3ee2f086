// Checks that each id in the path of an operation is described in src/api-client/id-kinds.ts, from which advice, hints and pages are derived.
import { expect, test } from "vitest";
import { idKindOf } from "../src/api-client/id-kinds.ts";
import { jobProcessingEndpoints } from "../src/contract/endpoints/job-processing.ts";

const RECORD = "a record of ID_KINDS in src/api-client/id-kinds.ts";

test.each(jobProcessingEndpoints)("the ids in the path of $id have a record with their collection", ({ path }) => {
  for (const [, collection = "", name = ""] of path.matchAll(/([\w-]+)\/\{(\w+)\}/g)) {
    expect(idKindOf(name), `add the path parameter ${name} to the \`arguments\` of ${RECORD}`).toBeDefined();
    expect(idKindOf(name)?.collections, `add ${collection} to the \`collections\` of ${RECORD}`).toContain(collection);
  }
});
