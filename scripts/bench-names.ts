// `npm run bench:names`: how well find_district finds districts by what people type, class by class, over the emulator's table and
// over the same districts as other public lists spell them. `-- --misses [CLASS …]` shows what was not found.

import { type Judged, type Measured, measure } from "../test/geography/names/measure.ts";
import { type Rate, ratesOf } from "../test/geography/names/rates.ts";
import { ownNames, questions, respelled } from "../test/geography/names/rows.ts";

const [flag, ...classes] = process.argv.slice(2);
const isMiss = ({ question, isRight, isSurelyWrong }: Judged): boolean =>
  (!isRight || isSurelyWrong) && (classes.length === 0 || classes.includes(question.kind));
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const percent = (share: number): string => (100 * share).toFixed(1);

function expectedOf({ question: { expected } }: Judged): string {
  if (expected.kind === "none") return "none";
  return expected.kind === "state" ? `state ${expected.code}` : expected.codes.join("+");
}

function printRate({ name, rows, share, sureShare, floor, isReached }: Rate): void {
  const bound = floor === undefined ? "" : `${percent(floor)}${isReached ? "" : "  missed"}`;
  const sure = sureShare === undefined ? "" : percent(sureShare);
  print(`${name.padEnd(24)}${String(rows).padStart(6)}${percent(share).padStart(8)}${sure.padStart(8)}   ${bound}`);
}

function printMisses(title: string, { judged }: Measured): void {
  print(`\n${title}: what was missed`);
  for (const each of judged.filter(isMiss)) {
    const { kind, query, state } = each.question;
    const asked = `${query}${state === undefined ? "" : ` [${state}]`}`;
    print(`${each.isSurelyWrong ? "SURE " : ""}${kind}\t${asked}\tnot ${expectedOf(each)} but ${each.told}`);
  }
}

const plain = await measure([...questions, ...ownNames]);
const other = await measure(questions, respelled);
print(`${"class".padEnd(24)}${"rows".padStart(6)}${"right %".padStart(8)}${"sure %".padStart(8)}   floor %`);
for (const rate of ratesOf(plain, other)) printRate(rate);
print(`a name takes ${plain.cpuMsPerName.toFixed(1)} ms of CPU, protocol included`);
if (flag === "--misses") {
  printMisses("the directory's spelling", plain);
  printMisses("respelled", other);
}
