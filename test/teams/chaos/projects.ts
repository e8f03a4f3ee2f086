// Defines the chaos tests of a deployment as vitest projects, one for each row of the table in docs/contribute/testing.md.
const CHAOS_TEST = "test/teams/chaos/chaos.test.ts";
const teamsTests = (...names: readonly string[]): readonly string[] =>
  names.map((name) => `test/teams/${name}.test.ts`);

/** Test files of the rows that are not tested in CHAOS_TEST, or not only there. */
const FILES_BY_ROW: Readonly<Record<number, readonly string[]>> = {
  5: [CHAOS_TEST, ...teamsTests("stalled-instances")],
  6: teamsTests("isolation"),
  7: ["test/geography/sharing.test.ts"],
  8: teamsTests("clients", "serve"),
  9: teamsTests("tokens", "provider", "chaos/providers"),
  10: [...teamsTests("secrets"), "test/telemetry/exports.test.ts", "test/deploy/files.test.ts"],
};

/** Creates the projects. `size` is the variable CHAOS: "small", or "full" for the sizes of a release. */
export const createChaosProjects = (size: string) =>
  Array.from({ length: 15 }, (_, at) => {
    const row = at + 1;
    const isFull = size === "full";
    const env = {
      CHAOS_ROW: String(row),
      TEAMS_PAIRS: isFull ? "10000" : "300",
      ...(isFull && { MIC_TEST_ALL: "1" }),
    };
    return {
      extends: true as const,
      test: { name: `row-${row}`, include: [...(FILES_BY_ROW[row] ?? [CHAOS_TEST])], env },
    };
  });
