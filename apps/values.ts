// Reads untrusted values safely: a host or the API may send anything.

export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The fields that a value should have, unchecked. `T`: the server's type, so that a renamed field does not compile. */
export type Unchecked<T> = { readonly [Name in T extends unknown ? keyof T : never]?: unknown };

export const fieldsOf = <T = Fields>(value: unknown): Unchecked<T> => (isFields(value) ? value : {});
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
export const numberOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;
export const textsOf = (value: unknown): readonly string[] =>
  listOf(value).filter((each): each is string => typeof each === "string");

/** The parts of a tool's result that all views use. */
export interface ToolResult {
  readonly isError: boolean;
  /** The tool's text. The text of a failure is its only content. */
  readonly text: string;
  readonly structured: Fields;
  readonly summary: string;
  readonly nextStep: { readonly tool: string; readonly arguments: Fields } | undefined;
}

export function parseToolResult(result: unknown): ToolResult {
  const { content, structuredContent, isError, _meta } = fieldsOf(result);
  // Tools that show a view send its data here, so that the model does not read it.
  const structured = fieldsOf(fieldsOf(_meta)["mic-mcp/view"] ?? structuredContent);
  const { tool, arguments: args } = fieldsOf(structured["nextStep"]);
  return {
    isError: isError === true,
    text: listOf(content)
      .map((block) => textOf(fieldsOf(block)["text"]))
      .filter((text) => text !== "")
      .join("\n"),
    structured,
    summary: textOf(structured["summary"]),
    nextStep: typeof tool === "string" ? { tool, arguments: fieldsOf(args) } : undefined,
  };
}

export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
