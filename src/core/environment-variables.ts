// This module parses environment variables, and reports those with invalid values.
import { join, resolve } from "node:path";
import { parseJson } from "../contract/json.ts";
import { expandHome, homeFolder, isAbsolutePath } from "./platform-folders.ts";

/** Parses one value. Throws InvalidValue. */
export type Reader<T> = (text: string) => T;

/** A value is invalid. The message describes the valid values. */
export class InvalidValue extends Error {}

/** Returns a reader that accepts the texts for which `fits` returns true. `what` describes them. */
export const textMatching =
  (what: string, fits: (text: string) => boolean): Reader<string> =>
  (text) => {
    if (fits(text)) return text;
    throw new InvalidValue(what);
  };

export const oneOf =
  <const T extends string>(choices: readonly T[], what: string): Reader<T> =>
  (text) => {
    const choice = choices.find((each) => each === text);
    if (choice !== undefined) return choice;
    throw new InvalidValue(what);
  };

export const wholeNumber =
  (min: number, max: number): Reader<number> =>
  (text) => {
    const number = Number(text);
    if (/^\d{1,6}$/.test(text) && number >= min && number <= max) return number;
    throw new InvalidValue(`a whole number from ${min} to ${max}`);
  };

export const isHttpUrl = (text: string): boolean => {
  // Paths are appended to the URL. URL itself would trim the text, and accept an empty query or fragment.
  if (!/^https?:\/\/[\x21-\x7e]+$/i.test(text) || /[?#]/.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username + password === "";
};

export const httpUrl = textMatching("an http or https URL without credentials, query or fragment", isHttpUrl);
export const printable = textMatching("printable ASCII text", (text) => /^[\x20-\x7e]+$/.test(text));
export const postgresUrl = textMatching("a postgres:// URL", (text) =>
  /^postgres(ql)?:$/.test(URL.canParse(text) ? new URL(text).protocol : ""),
);

/**
 * Returns a reader of the path of a folder or a file, which does not depend on the working folder: hosts start servers in the folder of a
 * project. `~` and `~/…` are in the home folder. `isShown`: whether a refusal shows the absolute form (false if the value may be a secret).
 */
export const pathIn =
  (environment: NodeJS.ProcessEnv, { isShown = true } = {}): Reader<string> =>
  (text) => {
    const home = homeFolder(environment);
    const path = expandHome(text, home);
    if (isAbsolutePath(path)) return resolve(path);
    const [, inHome] = /^(?:\$HOME|\$\{HOME\}|%USERPROFILE%)(?:[\\/](.*))?$/s.exec(text) ?? [];
    const absolute = home !== undefined && inHome !== undefined ? join(home, inHome) : resolve(path);
    const isMissingHome = home === undefined && expandHome(text, "/") !== text;
    const example = isMissingHome ? ": this user has no home folder" : isShown ? `, such as ${absolute}` : "";
    throw new InvalidValue(`an absolute path or start with ~/${example}`);
  };

// Hosts pass the placeholder of a setting that the user did not fill in.
const isUnset = (value: string | undefined): boolean =>
  value === "" || /^\$(?:\{(?:user_config\.\w+|MIC_\w+)\}|MIC_\w+)$/.test(value ?? "");

/** Hosts have different forms of references to variables, and pass those of other hosts unchanged. */
const PLACEHOLDER = /\$\{[^{}]*\}|\{(?:env|file|input):[^{}]*\}|%[A-Za-z_]\w*%|\$[A-Z_][A-Z0-9_]*/;
const PLACEHOLDER_ONLY = new RegExp(`^(?:${PLACEHOLDER.source})$`);
/** Also a placeholder within a longer value. In contrast, a secret can contain $NAME and %NAME%. */
const PLACEHOLDER_WITHIN = /\$\{[A-Za-z_][\w.:-]*\}|\{(?:env|file|input):[^{}]*\}/;

export type Variables = Readonly<Record<string, string | undefined>>;

/** Returns the MIC_* variables that are set. An empty one, or one with only a placeholder, counts as unset. */
export const pickMicVariables = (environment: Variables): Variables =>
  Object.fromEntries(Object.entries(environment).filter(([name, value]) => name.startsWith("MIC_") && !isUnset(value)));

/** Returns the environment for a program that must not receive this program's settings, one of which may be a secret. */
export const withoutMicVariables = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith("MIC_")));

const isWordList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === "string") && value[0] !== "";

/** Reads a program and its arguments. No shell runs them, so words that a shell would change are refused. */
export const commandWords: Reader<readonly string[]> = (text) => {
  const isJson = text.trimStart().startsWith("[");
  const words = isJson ? parseJson(text) : text.trim().split(/\s+/);
  const isSafe = isJson || !/["'`$|&;<>()*?~{}]|\\(?!\w)/.test(text);
  if (isSafe && isWordList(words)) return words;
  throw new InvalidValue(
    'a program and its arguments, without quotes and shell syntax; a JSON list such as ["pass", "show", "my secret"] if a word contains a space',
  );
};

/** Returns the value of one variable; undefined if it is unset or invalid. */
export type ReadVariable = <T>(name: string, reader: Reader<T>) => T | undefined;

/** `errors` contains no values, one of which might be a misplaced secret. `unknown`: the variables that were not read. */
export function readVariables<T>(texts: Variables, readAll: (read: ReadVariable) => T) {
  const errors: string[] = [];
  const known = new Set<string>();
  const values = readAll((name, reader) => {
    known.add(name);
    const text = texts[name];
    try {
      if (text === undefined) return undefined;
      if (!PLACEHOLDER_ONLY.test(text)) {
        const value = reader(text);
        // A command may run a shell, which replaces its variables.
        if (name.endsWith("_COMMAND") || !PLACEHOLDER_WITHIN.test(text)) return value;
      }
      errors.push(`The host did not replace the placeholder in ${name}: write the value itself, or unset ${name}.`);
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      const start = PLACEHOLDER.test(text ?? "") ? `The host did not replace the placeholder in ${name}, which` : name;
      errors.push(`${start} must be ${error.message}.`);
    }
    return undefined;
  });
  return { values, errors, unknown: Object.keys(texts).filter((name) => !known.has(name)) };
}
