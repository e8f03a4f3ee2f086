// Serves prompts/list and prompts/get. The texts are in src/toolkit/prompts.ts and in the skills that the prompts include.
import type { GetPromptResult, Server } from "@modelcontextprotocol/server";
import { formatToken } from "../core/untrusted-text.ts";
import { type Prompt, prompts } from "../toolkit/prompts.ts";
import { invalidParams } from "./invalid-params.ts";
import type { Runtime } from "./runtime.ts";

const MAX_CHARS = 4_000;

export const offeredPrompts = ({ offered }: Runtime): readonly Prompt[] =>
  prompts.filter(({ tools }) => tools.every((tool) => offered.has(tool)));

export function findPrompt(name: string, runtime: Runtime): Prompt {
  const offered = offeredPrompts(runtime);
  const prompt = offered.find((each) => each.name === name);
  if (prompt) return prompt;
  throw invalidParams(
    `Unknown prompt ${formatToken(name)}: the prompts are: ${offered.map((each) => each.name).join(", ")}.`,
  );
}

function validateArguments(prompt: Prompt, args: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const known = prompt.arguments.map(({ name }) => name);
  const unknownArguments = Object.keys(args).filter((name) => !known.includes(name));
  if (unknownArguments.length > 0)
    throw invalidParams(
      `${prompt.name} takes no argument ${unknownArguments.map((name) => formatToken(name)).join(", ")}; known: ${known.join(", ")}.`,
    );
  // A form also sends the arguments that the user left empty.
  const filled = Object.fromEntries(Object.entries(args).filter(([, value]) => value.trim() !== ""));
  const missing = prompt.arguments.filter(({ name, required }) => required && filled[name] === undefined);
  if (missing.length > 0) throw invalidParams(`${prompt.name} needs ${missing.map(({ name }) => name).join(", ")}.`);
  const tooLong = Object.entries(filled).filter(([, value]) => value.length > MAX_CHARS);
  if (tooLong.length > 0)
    throw invalidParams(`${tooLong.map(([name]) => name).join(", ")}: at most ${MAX_CHARS} characters.`);
  return filled;
}

export function servePrompts(server: Server, runtime: Runtime): void {
  server.setRequestHandler("prompts/list", async () => ({
    prompts: offeredPrompts(runtime).map((prompt) => ({
      name: prompt.name,
      title: prompt.title,
      description: prompt.description,
      arguments: prompt.arguments.map(({ name, description, required }) => ({ name, description, required })),
    })),
  }));
  server.setRequestHandler("prompts/get", async ({ params }): Promise<GetPromptResult> => {
    const prompt = findPrompt(params.name, runtime);
    const promptText = prompt.text(validateArguments(prompt, params.arguments ?? {}));
    const skill = prompt.skill === undefined ? undefined : await runtime.skills.instructions(prompt.skill);
    const text = skill === undefined ? promptText : `${promptText}\n\n${skill}`;
    return { description: prompt.description, messages: [{ role: "user", content: { type: "text", text } }] };
  });
}
