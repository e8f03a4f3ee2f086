// Defines a task: its world, its request and the check of its outcome.
import type { Usage } from "../agent-client.ts";
import type { Script } from "../scripted/script.ts";
import type { World, WorldOptions } from "../world.ts";

export interface PreparedTask {
  /** The user's request. */
  readonly request: string;
  /** Problems found in the world and in the agent's answer; empty or only `false` if the task succeeded. */
  verdict(answer: string): Promise<readonly (string | false)[]>;
  /** Calls and tokens of another agent that the task counts as well. */
  readonly peerUsage?: Usage;
}

export interface Task {
  readonly id: string;
  /** Does the task as the scripted agent. */
  readonly script: Script;
  readonly title: string;
  /**
   * Calls and tokens of an agent played by a human, before summary views and tools for several jobs existed. Tasks A1 to A13 have those
   * of the review of 2026-11-22.
   */
  readonly before?: Usage;
  /** Limits for the agent. As long as the tokens exceed the budget, `currentLimit` is the limit instead. */
  readonly budget?: Usage & { readonly currentLimit?: number };
  readonly world: WorldOptions;
  prepare(world: World): Promise<PreparedTask>;
}
