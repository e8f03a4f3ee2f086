// Reads all mutants from mutants.txt.
import { readFileSync } from "node:fs";
import type { Mutant } from "./mutant.ts";

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
