// Contains the input schemas that tools/list returns, by the name of the tool. In the built program they are data: the build computes
// them (scripts/build.ts), because a start would spend 15 ms on them. In the sources there are none, so each tool computes its own.
import type { JsonSchema } from "../contract/json.ts";

export const builtSchemas: Readonly<Partial<Record<string, JsonSchema>>> = {};
