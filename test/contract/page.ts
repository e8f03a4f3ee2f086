// Reads the tables of docs/contract.md: the fields of each resource and request, and the operations.
import { readFileSync } from "node:fs";

const page = readFileSync("docs/contract.md", "utf8");

/**
 * One field of a table, with its type and rule in the words of the page, and the ids of the rule. Further rows of a field have rules beyond its
 * grammar, which have their own tests.
 */
export interface PageField {
  readonly name: string;
  readonly text: string;
  readonly rules: readonly string[];
}

/** Finds the ids of rules in a text. */
export const idsIn = (text = ""): readonly string[] =>
  [...text.matchAll(/`(\d[\d.]*\/[^`\n]+)`/g)].map(([, id = ""]) => id);
const namesIn = (cell = ""): readonly string[] =>
  [...cell.matchAll(/`([A-Za-z][\w.[\]]*)`/g)].map(([, name = ""]) => name);

interface Row {
  /** The bold line or the heading above the table. */
  readonly title: string;
  readonly head: string;
  readonly cells: readonly string[];
}

function readRows(): readonly Row[] {
  const rows: Row[] = [];
  let [title, head] = ["", ""];
  for (const line of page.split("\n")) {
    const above = /^\*\*([^*]+)\*\*|^#+ (.*)/.exec(line);
    if (above) title = above[1] ?? above[2] ?? "";
    const cells = line.split("|").map((cell) => cell.trim());
    if (!line.startsWith("|")) head = "";
    else if (head === "") head = cells[1] ?? "";
    else if (!line.startsWith("|-")) rows.push({ title, head, cells: cells.slice(1, -1) });
  }
  return rows;
}
const rows = readRows();

/** The values of each state field, by `Job.state` (section 3). */
const states = new Map(
  rows
    .filter(({ title, head }) => title === "3. States and transitions" && head === "field")
    .flatMap(({ cells: [names, values = "", ids] }) =>
      namesIn(names).map((name): [string, PageField] => [name, { name, text: values, rules: idsIn(ids) }]),
    ),
);

/** Returns the fields by resource (`Job`), request body (`POST /v1/mic/jobs`), or part of a request (`listMicJobs query`). */
function readFields(): ReadonlyMap<string, readonly PageField[]> {
  const owners = new Map<string, Map<string, PageField>>();
  let owner = "";
  for (const { title, head, cells } of rows) {
    if (head !== "field" && !/ parameters$/.test(title)) continue;
    if (title.startsWith("3.")) continue;
    const [first = "", ...others] = cells;
    const [ids = "", ...texts] = others.reverse();
    if (head === "field") owner = title;
    else if (first !== "") owner = `${first} ${title.startsWith("Path") ? "path" : "query"}`;
    const listed = namesIn(head === "field" ? first : texts.pop());
    const fields = owners.get(owner) ?? new Map<string, PageField>();
    owners.set(owner, fields);
    const text = texts.reverse().join(" ").trim().replaceAll("the maximum", String(Number.MAX_SAFE_INTEGER));
    for (const name of listed) {
      const values = text.includes("section 3") ? states.get(`${owner}.${name}`) : undefined;
      const rules = [...new Set([...idsIn(ids), ...(values?.rules ?? [])])];
      if (!fields.has(name)) fields.set(name, { name, text: `${text} ${values?.text ?? ""}`.trim(), rules });
    }
  }
  return new Map([...owners].map(([key, fields]) => [key, [...fields.values()]]));
}

export const pageFields = readFields();

/** The operations in the tables of section 4, with the scopes to request from section 5. */
export const pageOperations = rows
  .filter(({ head }) => head === "operation id")
  .map(({ cells: [id = "", target = "", scopes = "", success = "", rule] }) => {
    const [, method = "", path = ""] = /^(\w+) `(.*)`$/.exec(target) ?? [];
    const [, status, answer = ""] = /^(\d+) (.*)$/.exec(success) ?? [];
    return { id, method, path, scopes, status: Number(status), answer, rules: idsIn(rule) };
  });

/** The scopes to request for the operations (section 5), separated by spaces, with the ids of their rules. */
export const pageScopes: ReadonlyMap<string, readonly string[]> = new Map(
  rows
    .filter(({ title, head }) => title === "5. Authentication" && head === "operation")
    .map(({ cells: [, scopes = "", rule] }) => [scopes, idsIn(rule)]),
);
