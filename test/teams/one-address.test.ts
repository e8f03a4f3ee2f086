// Trial 7 in small: one budget of geography requests for all instances.
import { describe, expect, test } from "vitest";
import { postgresMissing } from "../support/postgres.ts";
import { limitsTrial, SMALL } from "./trials/limits.ts";

describe.skipIf(postgresMissing !== undefined)(
  `instances behind one address${postgresMissing === undefined ? "" : ` (skipped: ${postgresMissing})`}`,
  () => {
    test("read each list once within the limit, though one dies on the way, and rest together", async () => {
      const { counts, wrong } = await limitsTrial(SMALL);
      expect(wrong).toEqual([]);
      expect(counts.requests).toBeGreaterThan(0);
    }, 240_000);
  },
);
