// Type of a scripted task: from a request to the agent's final answer.
import type { AgentClient } from "../agent.ts";

export type Script = (request: string, client: AgentClient) => Promise<string>;
