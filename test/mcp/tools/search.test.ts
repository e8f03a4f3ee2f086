// Tests that hosts that load tools by search find the right one: 31 plain queries through a BM25 search.
import { expect, test } from "vitest";
import { inProcessClientForTest, type ListedTool } from "../../support/mcp.ts";

const QUERIES: Readonly<Record<string, readonly string[]>> = {
  "which districts have the most mandals": ["rank_divisions"],
  "state with the fewest districts": ["rank_divisions"],
  "average number of tehsils per district": ["rank_divisions"],
  "compare states by number of districts": ["rank_divisions"],
  "all districts of Kerala": ["list_districts"],
  "list of Indian states and union territories": ["list_states"],
  "which state is Nizamabad in": ["find_district"],
  "old name of Prayagraj": ["find_district"],
  "find a misspelled district": ["find_district"],
  "start processing a file": ["run_job"],
  "run a pipeline on my file": ["run_job", "list_recipes"],
  "process many files": ["run_job", "run_jobs"],
  "available pipelines workflows": ["list_recipes"],
  "what parameters does a recipe need": ["get_recipe"],
  "is my job finished": ["get_job", "list_jobs", "wait_for_jobs"],
  "status of a job": ["get_job"],
  "which jobs failed today": ["list_jobs"],
  "show running jobs": ["list_jobs"],
  "rerun a failed job": ["retry_job", "retry_jobs"],
  "retry all failed jobs": ["retry_jobs"],
  "cancel all jobs": ["cancel_jobs"],
  "stop a running job": ["cancel_job"],
  "abort processing": ["cancel_job"],
  "wait until jobs are done": ["wait_for_jobs"],
  "remaining quota": ["get_usage"],
  "how much budget have I used": ["get_usage"],
  "limits of my workspace": ["get_capabilities"],
  "audit log idempotency": ["list_actions"],
  "history of what I changed": ["list_actions"],
  "recover after a crash": ["resolve_actions", "list_actions"],
  "export a table as CSV spreadsheet": ["save_table"],
};

const stem = (word: string): string => word.replace(/(?:ing|ed|es|s)$/, "");
const wordsOf = (text: string): readonly string[] =>
  (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).filter((word) => word.length > 1).map(stem);

/** The words that a host can search: also the names and descriptions of the arguments. */
const textOf = ({ name, title = "", description = "", inputSchema }: ListedTool): string => {
  const properties = Object.entries(Object(inputSchema["properties"]));
  const args = properties.map(([argument, schema]) => `${argument} ${Object(schema).description ?? ""}`);
  return [name, title, description, ...args].join(" ").replaceAll("_", " ");
};

/** Returns a search by Okapi BM25 (k1 1.2, b 0.75), best match first. */
function bm25(documents: ReadonlyMap<string, readonly string[]>) {
  const lengths = [...documents.values()].map((words) => words.length);
  const averageLength = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
  const score = (words: readonly string[], term: string): number => {
    const having = [...documents.values()].filter((each) => each.includes(term)).length;
    const idf = Math.log(1 + (documents.size - having + 0.5) / (having + 0.5));
    const count = words.filter((word) => word === term).length;
    return (idf * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * words.length) / averageLength));
  };
  return (query: string): readonly string[] =>
    [...documents]
      .map(([name, words]) => ({ name, score: wordsOf(query).reduce((sum, term) => sum + score(words, term), 0) }))
      .filter((each) => each.score > 0)
      .sort((one, other) => other.score - one.score)
      .map(({ name }) => name);
}

test("a search finds the right tool among the first two for at least 28 of 31 queries", async () => {
  const tools = await (await inProcessClientForTest("v2-modern", {})).listTools();
  const search = bm25(new Map(tools.map((tool) => [tool.name, wordsOf(textOf(tool))])));
  const missed = Object.entries(QUERIES).flatMap(([query, wanted]) => {
    const found = search(query).slice(0, 2);
    return found.some((name) => wanted.includes(name)) ? [] : [`${query}: ${found.join(", ")}`];
  });
  expect(Object.keys(QUERIES)).toHaveLength(31);
  expect(missed.length, missed.join("\n")).toBeLessThanOrEqual(3);
});
