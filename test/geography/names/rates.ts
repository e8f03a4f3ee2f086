// How many answers of each class are right, and the floors that hold for them.
import type { Judged, Measured } from "./measure.ts";
import { groupBy } from "./rows.ts";

export interface Rate {
  readonly name: string;
  readonly rows: number;
  /** 0 to 1: of its rows, those with a right answer; of "surely wrong", those with a wrong one. */
  readonly share: number;
  /** 0 to 1: right, and without a doubt; what is right as a guess alone is the difference. */
  readonly sureShare?: number;
  /** Of "surely wrong" the most there may be; absent where the figure is only told. */
  readonly floor?: number;
  readonly isReached: boolean;
}

/** Of 1, by class. */
const FLOORS: Readonly<Record<string, number>> = {
  "every-name": 1,
  "look-alikes": 1,
  "new-districts": 1,
  typos: 1,
  diacritics: 1,
  earlier: 0.97,
  spellings: 0.97,
  "wrong-state": 0.97,
  "no-such-district": 0.97,
  announced: 0.97,
  "not-districts": 0.97,
  abolished: 0.97,
  traps: 0.97,
  renamings: 0.98,
  colonial: 0.9,
  "short-forms": 0.9,
  "former-typos": 0.9,
  "state-appended": 0.97,
  delhi: 0.97,
  "district-words": 0.97,
  seats: 0.9,
  scripts: 0.95,
  several: 0.97,
  "state-argument": 0.97,
  "state-as-district": 0.95,
  "part-names": 0.97,
};
const WHOLE_FLOOR = 0.9;
const MOST_SURELY_WRONG = 0.003;

const OWN_NAMES = "every-name";

const shareOf = (judged: readonly Judged[], has: (each: Judged) => boolean): number =>
  judged.filter(has).length / Math.max(1, judged.length);

function rateOf(name: string, judged: readonly Judged[], floor: number | undefined): Rate {
  const share = shareOf(judged, ({ isRight }) => isRight);
  return {
    name,
    rows: judged.length,
    share,
    sureShare: shareOf(judged, ({ isRight, isSure }) => isRight && isSure),
    ...(floor !== undefined && { floor }),
    isReached: share >= (floor ?? 0),
  };
}

function wrongRate(name: string, judged: readonly Judged[]): Rate {
  const share = shareOf(judged, ({ isSurelyWrong }) => isSurelyWrong);
  return { name, rows: judged.length, share, floor: MOST_SURELY_WRONG, isReached: share <= MOST_SURELY_WRONG };
}

/** Of the questions in the tables alone: that the directory's own names are found would only flatter. */
const typed = ({ judged }: Measured): readonly Judged[] => judged.filter(({ question }) => question.kind !== OWN_NAMES);

/** Over the directory's own spelling class by class, then both worlds as wholes. */
export function ratesOf(plain: Measured, respelled: Measured): readonly Rate[] {
  const classes = [...groupBy(plain.judged, ({ question }) => question.kind)].map(([name, judged]) => {
    const floor = FLOORS[name];
    if (floor === undefined) throw new Error(`the class ${name} has no floor`);
    return rateOf(name, judged, floor);
  });
  return [
    ...classes,
    rateOf("whole", typed(plain), undefined),
    wrongRate("surely wrong", typed(plain)),
    rateOf("whole, respelled", typed(respelled), WHOLE_FLOOR),
    wrongRate("surely wrong, respelled", typed(respelled)),
  ];
}
