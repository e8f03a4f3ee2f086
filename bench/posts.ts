// Measures a POST: mic-mcp syncs its journal to disk before and after it sends the request; the other subjects keep no journal.
import { access, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Pool } from "undici";
import { GENERATED } from "./alternatives.ts";
import { createRegistration, paths } from "./calls.ts";
import { type Command, connect } from "./client.ts";
import type { BenchContext, MetricGroup } from "./group.ts";
import {
  assertAnswered,
  callTool,
  type Figures,
  measureCpu,
  median,
  quantile,
  type RunSize,
  timeCalls,
} from "./measure.ts";
import { CALL_V1_18, CLI, createEnvironment, isPagesOnly, OURS, type Subject } from "./subjects.ts";

async function measureSubject(
  command: Command,
  calls: Subject["calls"],
  { posts }: RunSize,
): Promise<Figures | undefined> {
  const register = calls?.register;
  if (!register) return undefined;
  const client = await connect(command);
  await assertAnswered(client, register(0));
  await timeCalls(posts, (n) => callTool(client, register(1 + n)));
  let times: readonly number[] = [];
  const cpu = await measureCpu(client, posts, async () => {
    times = await timeCalls(posts, (n) => callTool(client, register(1 + posts + n)));
  });
  await client.close();
  return { postMs: median(times), postP99Ms: quantile(times, 0.99), postCpuMs: cpu };
}

async function measureRaw({ baseUrl, size: { posts } }: BenchContext): Promise<Figures> {
  const pool = new Pool(baseUrl);
  const times = await timeCalls(posts, async (n) => {
    const headers = { "content-type": "application/json", "idempotency-key": `input-bench-${n}` };
    const body = JSON.stringify(createRegistration(n));
    await (await pool.request({ method: "POST", path: paths.inputs, headers, body })).body.text();
  });
  await pool.close();
  return { postMs: median(times), postP99Ms: quantile(times, 0.99) };
}

/** A file system in memory on Linux, on which a sync costs nothing. */
const MEMORY_FOLDER = "/dev/shm";

/** Runs `work` with a mic-mcp server whose journal is in a new folder of `parent`, and deletes the folder. */
async function withJournal<T>(parent: string, baseUrl: string, work: (command: Command) => Promise<T>): Promise<T> {
  await mkdir(parent, { recursive: true });
  const env = await createEnvironment(baseUrl, parent);
  try {
    return await work({ args: [CLI], env });
  } finally {
    await rm(join(env["MIC_STATE_DIR"] ?? "", ".."), { recursive: true, force: true });
  }
}

export const posts: MetricGroup = {
  title: "A POST",
  reference: CALL_V1_18,
  columns: [
    { name: "postMs", title: "register_input, p50, ms", digits: 2 },
    { name: "postP99Ms", title: "register_input, p99, ms", digits: 2 },
    { name: "postCpuMs", title: "register_input, CPU, ms", digits: 2 },
  ],
  async *round(bench) {
    const { subjects, baseUrl, size } = bench;
    yield ["undici", await measureRaw(bench)];
    for (const subject of subjects) {
      if (isPagesOnly(subject)) continue;
      const { name, command, calls } = subject;
      if (name !== OURS) {
        const figures = await measureSubject(command, calls, size);
        if (figures) yield [name, figures];
        continue;
      }
      // The repository is on a disk; a folder for temporary files may be in memory.
      const journalFolders = [
        [OURS, GENERATED],
        [`${OURS}, journal in memory`, MEMORY_FOLDER],
      ] as const;
      for (const [title, parent] of journalFolders) {
        if (
          parent === MEMORY_FOLDER &&
          !(await access(MEMORY_FOLDER).then(
            () => true,
            () => false,
          ))
        )
          continue;
        const figures = await withJournal(parent, baseUrl, (journalCommand) =>
          measureSubject(journalCommand, calls, size),
        );
        if (figures) yield [title, figures];
      }
    }
  },
};
