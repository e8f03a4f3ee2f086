// Tasks about a workspace: its files, quota and capabilities, and the prompts and resources that a user picks in a client.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import * as z from "zod/v4";
import { findIds } from "../scripted/results.ts";
import { downloadAsset, previewInput, readCapabilities, readQuota, runPickedPrompts } from "../scripted/workspace.ts";
import { NORMALIZE, readJobState, registerInput, VINTAGE } from "./setup.ts";
import type { Task } from "./task.ts";

const DownloadResult = z.looseObject({ path: z.string() });
const Usage = z.looseObject({
  data: z.looseObject({
    buckets: z.looseObject({ rows: z.array(z.looseObject({ metric: z.string(), remaining: z.string() })) }),
  }),
});

const download: Task = {
  id: "9",
  script: downloadAsset,
  title: "download the original",
  before: { calls: 1, tokens: 75 },
  world: { clockRate: 0 },
  prepare: async (world) => ({
    request: "Download signed-archive.bin. What is its sha256?",
    async verdict(answer) {
      const { path } = DownloadResult.parse(
        await world.callTool("download_asset", { assetId: world.fileId("signed-archive.bin") }),
      );
      const sha256 = createHash("sha256")
        .update(await readFile(path))
        .digest("hex");
      return [!answer.includes(sha256) && `its sha256 is missing: ${answer}`];
    },
  }),
};

const inputOriginal: Task = {
  id: "A7",
  script: previewInput,
  title: "download an input's original, first rows",
  before: { calls: 3, tokens: 528 },
  budget: { calls: 2, tokens: 460 },
  world: { clockRate: 0 },
  async prepare(world) {
    const input = await registerInput(world, "lgd-states.csv");
    return {
      request: `Download the original of input ${input}. Which columns does it have?`,
      verdict: async (answer) => [!/code/i.test(answer) && `the columns are missing: ${answer}`],
    };
  },
};

const quota: Task = {
  id: "12",
  script: readQuota,
  title: "the remaining quota",
  before: { calls: 3, tokens: 2251 },
  world: { clockRate: 0 },
  prepare: async (world) => ({
    request: "How many jobs may still be submitted today?",
    async verdict(answer) {
      const { data } = Usage.parse(await world.callTool("get_usage", { window: "DAY" }));
      const remaining = data.buckets.rows.find(({ metric }) => metric === "JOBS_SUBMITTED")?.remaining;
      return [(remaining === undefined || !answer.includes(remaining)) && `it is not ${remaining}: ${answer}`];
    },
  }),
};

const capabilities: Task = {
  id: "13",
  script: readCapabilities,
  title: "the capabilities of a workspace",
  before: { calls: 1, tokens: 1068 },
  world: { clockRate: 0 },
  prepare: async () => ({
    request: "What can this workspace do, and what not?",
    verdict: async (answer) => [
      !answer.includes("PROFILE_SAMPLE") && `a capability is missing: ${answer}`,
      !answer.includes("license") && `what it cannot do is missing: ${answer}`,
    ],
  }),
};

const promptsAndResources: Task = {
  id: "18",
  script: runPickedPrompts,
  title: "prompts, completions, resources",
  before: { calls: 24, tokens: 23900 },
  world: { clockRate: 30 },
  prepare: async (world) => ({
    request: `Pick the prompt run_job for lgd-districts and ${NORMALIZE} (districts, facts of ${VINTAGE}) and have it done; then diagnose_job for that job, and read what mic://jobs/{jobId}, the newest jobs and the catalogue say.`,
    verdict: async (answer) => {
      const [job] = findIds(answer, "micjob");
      return [
        (job === undefined || (await readJobState(world, job)) !== "SUCCEEDED") && `no job has succeeded: ${answer}`,
        (await world.countExecutions("createMicJob")) !== 1 && "not one job was submitted",
        !answer.includes("784 districts") && `the catalogue was not read: ${answer}`,
      ];
    },
  }),
};

export const workspace: readonly Task[] = [download, inputOriginal, quota, capabilities, promptsAndResources];
