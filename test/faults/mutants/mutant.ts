// A mutant: one safeguard of the program taken away by a small patch, and the test that fails without it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface TestName {
  readonly file: string;
  /** What its full name contains. */
  readonly name: string;
  /** It starts the built server. */
  readonly needsBuild: boolean;
}

export interface Mutant {
  /** What is so without the safeguard, as the README's table says it. */
  readonly what: string;
  /** A piece of code that stands in src/ exactly once. */
  readonly code: string;
  readonly replacement: string;
  readonly killedBy: TestName;
}

/** Tests of functions and of databases; `block` begins their names. */
export const inProcessTest =
  (file: string, block = "") =>
  (name: string) =>
    ({ file, name: `${block}${name}`, needsBuild: false }) satisfies TestName;
/** Tests of the server as it is delivered. */
export const builtServerTest = (file: string) => (name: string) =>
  ({ file, name, needsBuild: true }) satisfies TestName;

/** Code by its path. */
export type Sources = ReadonlyMap<string, string>;

export const readSources = (root: string): Sources =>
  new Map(
    readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => join("src", name).replaceAll("\\", "/"))
      .map((path) => [path, readFileSync(join(root, path), "utf8")]),
  );

const count = (text: string, part: string): number => text.split(part).length - 1;

/** Where a mutant's code stands. Throws Error unless that is one place: what would be patched is not what was meant. */
export function findPath({ what, code }: Mutant, sources: Sources): string {
  const paths = [...sources].flatMap(([path, text]) => Array<string>(count(text, code)).fill(path));
  const [foundPath] = paths;
  if (foundPath === undefined || paths.length > 1)
    throw new Error(`the code of the mutant "${what}" stands in src/ ${paths.length} times: ${code}`);
  return foundPath;
}
