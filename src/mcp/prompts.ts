// Serves prompts/list and prompts/get. The texts stand in src/toolkit/prompts.ts, and in the skills that some of them follow.
import { type GetPromptResult, ProtocolError, ProtocolErrorCode, type Server } from "@modelcontextprotocol/server";
import { formatToken } from "../core/untrusted-text.ts";
import { type Prompt, type PromptArgument, prompts } from "../toolkit/prompts.ts";
import type { Runtime } from "./runtime.ts";
import { isOfferedTool } from "./tools/offered-tools.ts";

const MAX_CHARS = 4_000;

const wrong = (message: string): ProtocolError => new ProtocolError(ProtocolErrorCode.InvalidParams, message);

export const offeredPrompts = ({ tools, config }: Runtime): readonly Prompt[] =>
  prompts.filter((prompt) => prompt.tools.every((tool) => isOfferedTool(tool, tools, config)));

export function findPrompt(name: string, runtime: Runtime): Prompt {
  const offered = offeredPrompts(runtime);
  const prompt = offered.find((each) => each.name === name);
  if (prompt) return prompt;
  throw wrong(`Unknown prompt ${formatToken(name)}: the prompts are: ${offered.map((each) => each.name).join(", ")}.`);
}

function checked(prompt: Prompt, given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const known = prompt.arguments.map(({ name }) => name);
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw wrong(
      `${prompt.name} takes no argument ${unknown.map((name) => formatToken(name)).join(", ")}; it takes: ${known.join(", ")}.`,
    );
  // A form sends an argument that was left empty.
  const filled = Object.fromEntries(Object.entries(given).filter(([, value]) => value.trim() !== ""));
  const missing = prompt.arguments.filter(({ name, required }) => required && filled[name] === undefined);
  if (missing.length > 0) throw wrong(`${prompt.name} needs ${missing.map(({ name }) => name).join(", ")}.`);
  const long = Object.entries(filled).filter(([, value]) => value.length > MAX_CHARS);
  if (long.length > 0) throw wrong(`${long.map(([name]) => name).join(", ")}: at most ${MAX_CHARS} characters.`);
  return filled;
}

const shown = ({ name, description, required }: PromptArgument) => ({ name, description, required });

export function servePrompts(server: Server, runtime: Runtime): void {
  server.setRequestHandler("prompts/list", async () => ({
    prompts: offeredPrompts(runtime).map((prompt) => ({
      name: prompt.name,
      title: prompt.title,
      description: prompt.description,
      arguments: prompt.arguments.map(shown),
    })),
  }));
  server.setRequestHandler("prompts/get", async ({ params }): Promise<GetPromptResult> => {
    const prompt = findPrompt(params.name, runtime);
    const asked = prompt.text(checked(prompt, params.arguments ?? {}));
    const skill = prompt.skill === undefined ? undefined : await runtime.skills.instructions(prompt.skill);
    const text = skill === undefined ? asked : `${asked}\n\n${skill}`;
    return { description: prompt.description, messages: [{ role: "user", content: { type: "text", text } }] };
  });
}
