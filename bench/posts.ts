// A POST: ours is written into a journal and synced to disk before it is sent and once more after; nobody else remembers his.
import { access, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Pool } from "undici";
import { paths, registration } from "./calls.ts";
import { type Command, connect } from "./client.ts";
import type { Bench, Group } from "./group.ts";
import { answered, callTool, cpuOf, type Figures, median, quantile, type Size, timed } from "./measure.ts";
import { GENERATED } from "./peers.ts";
import { CALL_V1_18, CLI, isOfPages, OURS, ourEnvironment, type Subject } from "./subjects.ts";

async function figuresOf(command: Command, calls: Subject["calls"], { posts }: Size): Promise<Figures | undefined> {
  const register = calls?.register;
  if (!register) return undefined;
  const client = await connect(command);
  await answered(client, register(0));
  await timed(posts, (n) => callTool(client, register(1 + n)));
  let times: readonly number[] = [];
  const cpu = await cpuOf(client, posts, async () => {
    times = await timed(posts, (n) => callTool(client, register(1 + posts + n)));
  });
  await client.close();
  return { postMs: median(times), postP99Ms: quantile(times, 0.99), postCpuMs: cpu };
}

async function rawFigures({ baseUrl, size: { posts } }: Bench): Promise<Figures> {
  const pool = new Pool(baseUrl);
  const times = await timed(posts, async (n) => {
    const headers = { "content-type": "application/json", "idempotency-key": `input-bench-${n}` };
    const body = JSON.stringify(registration(n));
    await (await pool.request({ method: "POST", path: paths.inputs, headers, body })).body.text();
  });
  await pool.close();
  return { postMs: median(times), postP99Ms: quantile(times, 0.99) };
}

/** Of memory, on Linux: a sync there costs nothing. */
const MEMORY = "/dev/shm";

/** A server of ours, whose journal lies in a folder of `parent` while it works. */
async function withJournal<T>(parent: string, baseUrl: string, work: (command: Command) => Promise<T>): Promise<T> {
  await mkdir(parent, { recursive: true });
  const env = await ourEnvironment(baseUrl, parent);
  try {
    return await work({ args: [CLI], env });
  } finally {
    await rm(join(env["MIC_STATE_DIR"] ?? "", ".."), { recursive: true, force: true });
  }
}

export const posts: Group = {
  title: "A POST",
  reference: CALL_V1_18,
  columns: [
    { name: "postMs", title: "register_input, p50, ms", digits: 2 },
    { name: "postP99Ms", title: "register_input, p99, ms", digits: 2 },
    { name: "postCpuMs", title: "register_input, CPU, ms", digits: 2 },
  ],
  async *round(bench) {
    const { subjects, baseUrl, size } = bench;
    yield ["undici", await rawFigures(bench)];
    for (const subject of subjects) {
      if (isOfPages(subject)) continue;
      const { name, command, calls } = subject;
      if (name !== OURS) {
        const figures = await figuresOf(command, calls, size);
        if (figures) yield [name, figures];
        continue;
      }
      // Where this repository lies there is a disk; a folder for temporary files may be of memory.
      const places = [
        [OURS, GENERATED],
        [`${OURS}, journal in memory`, MEMORY],
      ] as const;
      for (const [title, parent] of places) {
        if (
          parent === MEMORY &&
          !(await access(MEMORY).then(
            () => true,
            () => false,
          ))
        )
          continue;
        const figures = await withJournal(parent, baseUrl, (own) => figuresOf(own, calls, size));
        if (figures) yield [title, figures];
      }
    }
  },
};
