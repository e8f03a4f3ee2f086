// `npm run bench:names`: how well find_district finds districts by what people type, class by class, over the emulator's table and
// over the same districts as other public lists spell them. `-- --misses [CLASS …]` shows what was not found.
import { type Judged, measure, ratesOf } from "../test/geography/names/measure.ts";
import { ownNames, questions, respelled } from "../test/geography/names/rows.ts";

const [flag, ...classes] = process.argv.slice(2);
const isMiss = ({ question, isRight, isCertainAndWrong }: Judged): boolean =>
  (!isRight || isCertainAndWrong) && (classes.length === 0 || classes.includes(question.kind));
const print = (...cells: readonly string[]): void => void process.stdout.write(`${cells.join("")}\n`);

function printRates(title: string, judgments: readonly Judged[]): void {
  print(`${title.padEnd(24)}  rows  right %   sure %  surely wrong`);
  for (const [name, { rows, right, certain, certainAndWrong }] of ratesOf(judgments)) {
    const [rightShare = "", sureShare = ""] = [right, certain].map((count) =>
      ((100 * count) / rows).toFixed(1).padStart(9),
    );
    print(name.padEnd(24), String(rows).padStart(6), rightShare, sureShare, String(certainAndWrong).padStart(14));
  }
  for (const { question, isCertainAndWrong, answer } of flag === "--misses" ? judgments.filter(isMiss) : []) {
    const { kind, query, state, expected } = question;
    print(
      isCertainAndWrong ? "SURE " : "",
      kind,
      "\t",
      query,
      state === undefined ? "" : ` [${state}]`,
      `\tnot ${expected} but ${answer}`,
    );
  }
}

const before = process.cpuUsage();
printRates("the directory's spelling", measure([...questions, ...ownNames]));
const { user, system } = process.cpuUsage(before);
printRates("respelled", measure(questions, respelled));
print(`a name takes ${((user + system) / 1000 / (questions.length + ownNames.length)).toFixed(1)} ms of CPU`);
