// Measures how well find_district finds districts by the names that people type, for each class of question: `npm run
// bench:names`. It uses the emulator's table, and the same districts in the spelling of other public lists. `-- --misses [CLASS
// …]` shows the questions with a wrong answer.
import { computeRates, type Judgment, judgeAnswers } from "../test/geography/names/measure.ts";
import {
  alternativeSpellings,
  directoryNameQuestions,
  questions,
  shapeQuestions,
} from "../test/geography/names/question-tables.ts";

const [flag, ...classes] = process.argv.slice(2);
const isMiss = ({ question, isRight, isCertainAndWrong }: Judgment): boolean =>
  (!isRight || isCertainAndWrong) && (classes.length === 0 || classes.includes(question.kind));
const print = (...cells: readonly string[]): void => void process.stdout.write(`${cells.join("")}\n`);

function printRates(title: string, judgments: readonly Judgment[]): void {
  print(`${title.padEnd(24)}  rows  right %   sure %  surely wrong`);
  for (const [name, { rows, correct, certain, certainAndWrong }] of computeRates(judgments)) {
    const [rightShare = "", sureShare = ""] = [correct, certain].map((count) =>
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

const generatedQuestions = [...directoryNameQuestions, ...shapeQuestions];
const before = process.cpuUsage();
printRates("the directory's spelling", judgeAnswers([...questions, ...generatedQuestions]));
const { user, system } = process.cpuUsage(before);
printRates("respelled", judgeAnswers(questions, alternativeSpellings));
print(`a name takes ${((user + system) / 1000 / (questions.length + generatedQuestions.length)).toFixed(1)} ms of CPU`);
