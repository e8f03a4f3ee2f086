// What a model has to read, in o200k tokens: text as it stands, anything else as JSON without spaces.
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";

export const weigh = (value: unknown): number => countTokens(typeof value === "string" ? value : JSON.stringify(value));
