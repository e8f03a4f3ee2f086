// Trial 7 in small: one budget of geography requests for all instances.
import { describe, expect, test } from "vitest";
import { postgresMissing } from "../support/postgres.ts";
import { limitsTrial, SMALL } from "./trials/limits.ts";

describe.skipIf(postgresMissing !== undefined)(
  `instances behind one address${postgresMissing === undefined ? "" : ` (skipped: ${postgresMissing})`}`,
  () => {
    test("read each list once within the limit, though one dies on the way, and rest together", async () => {
      const report = await limitsTrial(SMALL);
      expect(report).toMatchObject({ requests: 37, refused: 0, readTwice: [] });
      expect(report.mostInAMinute).toBeLessThanOrEqual(30);
      const survivors = SMALL.questions - Math.ceil(SMALL.questions / SMALL.instances);
      expect(report.answers).toEqual(Array.from({ length: survivors }, () => 36));
      expect(report.restedSeconds).toBeGreaterThanOrEqual(report.askedSeconds);
    }, 240_000);
  },
);
