// Decides how much a run tests: `npm test` uses small samples, MIC_TEST_ALL=1 (as in .ci/run) uses all.
export const isThorough = process.env["MIC_TEST_ALL"] === "1";

export const runCount = (usual: number, thorough: number): number => (isThorough ? thorough : usual);
