// So many at once; the others wait in line, and not for ever.
export interface Slots {
  /** Resolves when there is room; call the returned function to leave. Throws `tooLate` after `waitMs`. */
  enter(): Promise<() => void>;
  /** How many wait now. */
  waiting(): number;
}

export function createSlots(size: number, waitMs: number, tooLate: () => Error): Slots {
  const line: (() => void)[] = [];
  let taken = 0;

  function leave(): void {
    const next = line.shift();
    if (next) next();
    else taken -= 1;
  }

  function inLine(): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        clearTimeout(alarm);
        resolve();
      };
      const alarm = setTimeout(() => {
        line.splice(line.indexOf(enter), 1);
        reject(tooLate());
      }, waitMs);
      line.push(enter);
    });
  }

  return {
    async enter() {
      if (taken < size) taken += 1;
      else await inLine();
      let isIn = true;
      return () => {
        if (isIn) leave();
        isIn = false;
      };
    },
    waiting: () => line.length,
  };
}
