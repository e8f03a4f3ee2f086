// Counts the tokens of a text in OpenAI's o200k encoding, as the official tokenizer does.
import { Tiktoken } from "js-tiktoken/lite";
import o200k from "js-tiktoken/ranks/o200k_base";

const encoding = new Tiktoken(o200k);

/** Special tokens in the text, such as `<|endoftext|>`, count as plain text. */
export const countTokens = (text: string): number => encoding.encode(text, [], []).length;
