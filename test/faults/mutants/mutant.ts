// Defines a mutant: a small patch that removes one safeguard of the program, and the test that fails without it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface TestName {
  readonly file: string;
  /** Part of the test's full name. */
  readonly name: string;
  /** The test starts the built server. */
  readonly needsBuild: boolean;
}

export interface Mutant {
  /** Behavior without the safeguard. */
  readonly what: string;
  /** Code that occurs exactly once in src/. */
  readonly code: string;
  readonly replacement: string;
  readonly killedBy: TestName;
}

/** Source code by path. */
export type Sources = ReadonlyMap<string, string>;

export const readSources = (root: string): Sources =>
  new Map(
    readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => join("src", name).replaceAll("\\", "/"))
      .map((path) => [path, readFileSync(join(root, path), "utf8")]),
  );

const count = (text: string, part: string): number => text.split(part).length - 1;

/**
 * Returns the path of the file with a mutant's code. Throws Error unless the code occurs exactly once, because the patch could
 * change the wrong place.
 */
export function findPath({ what, code }: Mutant, sources: Sources): string {
  const paths = [...sources].flatMap(([path, text]) => Array<string>(count(text, code)).fill(path));
  const [foundPath] = paths;
  if (foundPath === undefined || paths.length > 1)
    throw new Error(`the code of the mutant "${what}" stands in src/ ${paths.length} times: ${code}`);
  return foundPath;
}
