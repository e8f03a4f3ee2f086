// The chaos tests of a deployment as vitest projects, one for each row of the table in docs/testing.md.
const CHAOS = "test/teams/trials/chaos.test.ts";
const inTeams = (...names: readonly string[]): readonly string[] => names.map((name) => `test/teams/${name}.test.ts`);

/** Rows that other tests show, or show in part. Each other row is a test of its own in CHAOS. */
const FILES: Readonly<Record<number, readonly string[]>> = {
  5: [CHAOS, ...inTeams("standstill")],
  6: inTeams("isolation"),
  7: ["test/geography/sharing.test.ts"],
  8: inTeams("clients", "inspector", "claude-code", "serve"),
  9: inTeams("tokens", "provider"),
  10: [...inTeams("secrets"), "test/telemetry/leaks.test.ts", "test/deploy/files.test.ts"],
};

/** Reads CHAOS: "small", or "whole" for the numbers of a release. */
export const trialProjects = (size: string) =>
  Array.from({ length: 12 }, (_, at) => {
    const row = at + 1;
    const isWhole = size === "whole";
    const env = {
      CHAOS_ROW: String(row),
      TEAMS_PAIRS: isWhole ? "10000" : "300",
      ...(isWhole && { MIC_TEST_ALL: "1" }),
    };
    return { extends: true as const, test: { name: `row-${row}`, include: [...(FILES[row] ?? [CHAOS])], env } };
  });
