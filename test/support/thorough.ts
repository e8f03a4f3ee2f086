// How much is tried: `npm test` takes what a developer waits for, MIC_TEST_ALL=1 (as .ci/run has it) all there is.
export const isThorough = process.env["MIC_TEST_ALL"] === "1";

/** Of runs whose number is a matter of patience. */
export const runCount = (usual: number, thorough: number): number => (isThorough ? thorough : usual);
