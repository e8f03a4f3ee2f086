// Makes tasks of rows: a request, patterns of the correct answer, and limits of what may take effect.
import type { World, WorldOptions } from "../world.ts";
import type { Task } from "./task.ts";

export interface Row extends Pick<Task, "id" | "script" | "title" | "before" | "budget"> {
  /** Options in addition to the usual clock. */
  readonly world?: Partial<WorldOptions>;
  /** Prepares the world, and returns the request. */
  readonly request: (world: World) => string | Promise<string>;
  /** Patterns of the correct answer. */
  readonly answer: readonly RegExp[];
  /** Patterns of false statements. */
  readonly wrong?: readonly RegExp[];
  /** Maximum number of jobs that may be submitted (default 0). */
  readonly maxJobs?: number;
  /** Whether the calls of the other agents count. */
  readonly countsPeers?: boolean;
  /** Returns the problems of the world's state. */
  readonly check?: (world: World) => Promise<readonly (string | false)[]>;
}

export const createTasks = (rows: readonly Row[]): readonly Task[] =>
  rows.map(
    ({ request, answer: patterns, wrong = [], maxJobs = 0, countsPeers = false, check, world: options, ...task }) => ({
      ...task,
      world: { clockRate: 30, ...options },
      prepare: async (world) => ({
        request: await request(world),
        ...(countsPeers && { peerUsage: world.peerUsage }),
        verdict: async (answer) => [
          ...patterns.map((pattern) => !pattern.test(answer) && `the answer lacks ${pattern}: ${answer}`),
          ...wrong.map((pattern) => pattern.test(answer) && `the answer contains ${pattern}: ${answer}`),
          (await world.countExecutions("createMicJob")) > maxJobs && `more than ${maxJobs} jobs were submitted`,
          ...((await check?.(world)) ?? []),
        ],
      }),
    }),
  );
