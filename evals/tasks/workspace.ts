// What a workspace has and may: its files, its quota, its capabilities; and what a person can pick in a client.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import * as z from "zod/v4";
import { idsIn, NORMALIZE, stateOf, VINTAGE } from "./setting.ts";
import type { Task } from "./task.ts";

const Saved = z.looseObject({ path: z.string() });
const Usage = z.looseObject({
  data: z.looseObject({
    buckets: z.looseObject({ rows: z.array(z.looseObject({ metric: z.string(), remaining: z.string() })) }),
  }),
});

const download: Task = {
  id: "9",
  title: "download the original",
  before: { calls: 1, tokens: 75 },
  world: { pace: 0 },
  ask: async (world) => ({
    request: "Download signed-archive.bin. What is its sha256?",
    async verdict(words) {
      const { path } = Saved.parse(await world.ask("download_asset", { assetId: world.file("signed-archive.bin") }));
      const sha256 = createHash("sha256")
        .update(await readFile(path))
        .digest("hex");
      return [!words.includes(sha256) && `its sha256 is not told: ${words}`];
    },
  }),
};

const quota: Task = {
  id: "12",
  title: "quota left",
  before: { calls: 3, tokens: 2251 },
  world: { pace: 0 },
  ask: async (world) => ({
    request: "How many jobs may still be submitted today?",
    async verdict(words) {
      const { data } = Usage.parse(await world.ask("get_usage", { window: "DAY" }));
      const left = data.buckets.rows.find(({ metric }) => metric === "JOBS_SUBMITTED")?.remaining;
      return [(left === undefined || !words.includes(left)) && `it is not ${left}: ${words}`];
    },
  }),
};

const capabilities: Task = {
  id: "13",
  title: "what can this workspace do",
  before: { calls: 1, tokens: 1068 },
  world: { pace: 0 },
  ask: async () => ({
    request: "What can this workspace do, and what not?",
    verdict: async (words) => [
      !words.includes("PROFILE_SAMPLE") && `not all it can do is told: ${words}`,
      !words.includes("license") && `what it cannot do is not told: ${words}`,
    ],
  }),
};

const picked: Task = {
  id: "18",
  title: "prompts, completions, resources",
  before: { calls: 24, tokens: 23900 },
  world: { pace: 30 },
  ask: async (world) => ({
    request: `Pick the prompt run_job for lgd-districts and ${NORMALIZE} (districts, facts of ${VINTAGE}) and have it done; then diagnose_job for that job, and read what mic://jobs/{jobId}, the newest jobs and the catalogue say.`,
    verdict: async (words) => {
      const [job] = idsIn(words, "micjob");
      return [
        (job === undefined || (await stateOf(world, job)) !== "SUCCEEDED") && `no job has succeeded: ${words}`,
        (await world.executions("createMicJob")) !== 1 && "not one job was submitted",
        !words.includes("784 districts") && `the catalogue was not read: ${words}`,
      ];
    },
  }),
};

export const workspace: readonly Task[] = [download, quota, capabilities, picked];
