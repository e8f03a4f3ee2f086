// Tests that model APIs accept the listed tools (schema-rules.ts).
import { readFile } from "node:fs/promises";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { connectionForFile } from "../support/mcp.ts";
import { MAX_TOOLS, STRICTEST_TOOL } from "./schema-rules.ts";

const connections = {
  "with a default workspace": connectionForFile("v2-modern", () => ({ args: ["serve", "--emulator"] })),
  "without one": connectionForFile("v1-client"),
};

/** Each recipe and each listing call has its own arguments. The APIs that refuse an open object get these tools without strict mode. */
const OPEN_ARGUMENTS = {
  submit_job: "parameterValues",
  run_job: "parameterValues",
  run_jobs: "parameterValues",
  save_table: "arguments",
};
const isValid = new Ajv2020({ allErrors: true }).compile(STRICTEST_TOOL);
function problemsOf(tool: { readonly name: string }): readonly string[] {
  isValid(tool);
  return (isValid.errors ?? []).flatMap(({ keyword, instancePath, message }) =>
    keyword === "if" ? [] : `${tool.name}${instancePath.replace("/inputSchema/properties", "")}: ${message}`,
  );
}

describe.each(Object.entries(connections))("tools/list %s", (_, connection) => {
  test("model APIs accept the listed tools", async () => {
    const tools = await connection().listTools();
    expect(tools.length).toBeLessThanOrEqual(MAX_TOOLS);
    expect(tools.flatMap(problemsOf)).toEqual(
      Object.entries(OPEN_ARGUMENTS).map(
        ([tool, argument]) => `${tool}/${argument}: must have required property 'additionalProperties'`,
      ),
    );
    for (const { name, inputSchema } of tools) {
      const { required = [], properties } = inputSchema;
      expect(Object.keys(Object(properties)), name).toEqual(expect.arrayContaining([required].flat()));
      // Far below each limit for depth, properties, enum values and characters.
      expect(JSON.stringify(inputSchema).length, name).toBeLessThan(10_000);
    }
  });

  test("the tools' schemas compile in the strict mode of JSON Schema 2020-12", async () => {
    const ajv = new Ajv2020({ strict: true, validateFormats: false });
    for (const { name, inputSchema, outputSchema } of await connection().listTools()) {
      expect(() => ajv.compile(inputSchema), name).not.toThrow();
      expect(() => ajv.compile(outputSchema ?? false), name).not.toThrow();
      // Clients of the 2025 revisions accept only an object as the result.
      expect(outputSchema).toMatchObject({ type: "object" });
    }
  });
});

test("docs/use/clients.md names the tools that strict model APIs refuse", async () => {
  const lines = (await readFile("docs/use/clients.md", "utf8")).split("\n");
  for (const name of ["OpenAI strict", "Gemini parameters", "Anthropic strict"])
    for (const tool of Object.keys(OPEN_ARGUMENTS))
      expect(lines.find((line) => line.startsWith(`| ${name} |`))).toContain(tool);
});
