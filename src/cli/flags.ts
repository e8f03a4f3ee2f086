// Values of flags that are not text. Throws UsageError.
import { UsageError } from "../config.ts";

export function wholeNumber(flag: string, text: string | undefined, max: number): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text) || Number(text) > max)
    throw new UsageError(`--${flag} takes a whole number from 0 to ${max}.`);
  return Number(text);
}
