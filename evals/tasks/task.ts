// What a piece of work is: how its world begins, what is asked, and how its end is judged.
import type { World, WorldOptions } from "../world.ts";

export interface PreparedTask {
  /** The person's words. */
  readonly request: string;
  /** What is wrong with how it ended, from the world itself and from the agent's last words; nothing: it was done. */
  verdict(answer: string): Promise<readonly (string | false)[]>;
}

export interface Task {
  readonly id: string;
  readonly title: string;
  /** Calls and tokens of an agent that a person played, before results were lean and calls took several jobs. */
  readonly before?: { readonly calls: number; readonly tokens: number };
  /** What its agent may need at most. Where the tokens are not reached yet, `reached` must not be exceeded until they are. */
  readonly budget?: { readonly calls: number; readonly tokens: number; readonly currentLimit?: number };
  readonly world: WorldOptions;
  prepare(world: World): Promise<PreparedTask>;
}
