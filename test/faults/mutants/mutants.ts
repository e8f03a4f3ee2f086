// Reads all mutants from mutants.txt. A mutant is a small patch that removes one safeguard of the program, and names the test that
// fails without it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Mutant {
  /** Behavior without the safeguard. */
  readonly what: string;
  /** Code that occurs exactly once in src/. */
  readonly code: string;
  readonly replacement: string;
  /** `name`: part of the test's full name. `needsBuild`: the test starts the built server. */
  readonly killedBy: { readonly file: string; readonly name: string; readonly needsBuild: boolean };
}

export const readSources = (root: string): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => join("src", name).replaceAll("\\", "/"))
      .map((path) => [path, readFileSync(join(root, path), "utf8")]),
  );

/** Returns the path of the file with a mutant's code. Throws Error unless the code occurs exactly once. */
export function findPath({ what, code }: Mutant, sources: ReadonlyMap<string, string>): string {
  const [path, ...others] = [...sources].flatMap(([each, text]) =>
    text
      .split(code)
      .slice(1)
      .map(() => each),
  );
  if (path === undefined || others.length > 0)
    throw new Error(`the code of the mutant "${what}" does not stand in src/ exactly once: ${code}`);
  return path;
}

function readMutants(text: string): readonly Mutant[] {
  const mutants: Mutant[] = [];
  let [file = "", isBuilt = "", name = ""]: readonly string[] = [];
  const PATTERN = /^(test\/\S+)( \(built\))?$|^> (.+)$|^([^#\n].*)\n((?:-.*\n)+)((?:\+.*\n)*)/gm;
  for (const [, path, mark = "", title, what, removed = "", added = ""] of text.matchAll(PATTERN))
    if (path !== undefined) [file, isBuilt] = [path, mark];
    else if (title !== undefined) name = title;
    else if (what !== undefined) {
      const [code = "", replacement = ""] = [removed, added].map((lines) => lines.replace(/^./gm, "").slice(0, -1));
      mutants.push({ what, code, replacement, killedBy: { file, name, needsBuild: isBuilt !== "" } });
    }
  return mutants;
}

export const mutants = readMutants(readFileSync(new URL("mutants.txt", import.meta.url), "utf8"));
