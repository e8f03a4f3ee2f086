// What a scripted agent does with a request: a plan for this kind of work, and else what it is told.
import type { AgentClient } from "../agent.ts";

export type Script = (request: string, client: AgentClient) => Promise<string>;
