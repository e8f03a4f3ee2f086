// Stages on a terminal, drawn anew as they go on. A part of its own, loaded when a job is watched there.
import { Listr } from "listr2";
import type { StageShown } from "./stages.ts";

export interface StagesView {
  show(stages: readonly StageShown[]): void;
  /** Resolves when the last that was shown is drawn, and nothing is drawn any more. */
  end(): Promise<void>;
}

interface Line {
  title: string;
  output: string;
  skip(message: string): void;
}

/** `first`: as they stand before anything is known. */
export function createStagesView(first: readonly StageShown[]): StagesView {
  let stages = first;
  let isEnding = false;
  let wake: () => void = () => undefined;

  /** Follows one stage to its end. Rejects where it fails, or the watching ends before. */
  async function follow(index: number, line: Line): Promise<void> {
    for (;;) {
      const stage = stages[index];
      if (stage) {
        line.title = stage.title;
        line.output = stage.note;
        if (stage.is === "done") return;
        if (stage.is === "not needed") return line.skip(`${stage.title} not needed`);
        if (stage.is === "failed") throw new Error(stage.title);
      }
      if (isEnding) throw new Error("not followed any more");
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }

  const list = new Listr(
    first.map(({ title }, index) => ({ title, task: async (_, line) => await follow(index, line) })),
    {
      concurrent: false,
      exitOnError: true,
      registerSignalListeners: false,
      rendererOptions: { showErrorMessage: false, collapseSkips: false, suffixSkips: false },
    },
  );
  // How it ends is the job's own matter.
  const drawn = list.run().catch(() => undefined);
  return {
    show(next) {
      stages = next;
      wake();
    },
    async end() {
      isEnding = true;
      wake();
      await drawn;
    },
  };
}
