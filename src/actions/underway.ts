// The actions that this process is working on, whoever calls: one heartbeat for all of them, and none while there are none.

/** A claim lasts three of them. */
const BEAT_MS = 10_000;

/** `heartbeat`: makes all claims of this process last on. */
export function createUnderway(heartbeat: () => Promise<unknown>) {
  const names = new Set<string>();
  let beat: NodeJS.Timeout | undefined;
  return {
    add: (name: string): void => void names.add(name),
    delete: (name: string): void => void names.delete(name),
    has: (name: string): boolean => names.has(name),
    /** While anything is under way. `onTrouble` hears why a heartbeat failed. */
    keepBeating(onTrouble: (error: unknown) => void): void {
      beat ??= setInterval(() => {
        if (names.size > 0) return void heartbeat().catch(onTrouble);
        clearInterval(beat);
        beat = undefined;
      }, BEAT_MS).unref();
    },
  };
}
