// Runs a program with a different clock, with libfaketime (Debian package: libfaketime).
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const LIBRARIES = "/usr/lib";

const library = (existsSync(LIBRARIES) ? readdirSync(LIBRARIES) : [])
  .map((name) => join(LIBRARIES, name, "faketime", "libfaketime.so.1"))
  .find((path) => existsSync(path));

/** Reason why no clock can be faked here; undefined if it can. */
export const fakeClockMissing = library === undefined ? "libfaketime is not installed" : undefined;

/** A command that runs its last arguments with a clock that differs by `seconds`. Timers are not affected. */
export const fakeClockCommand = (seconds: number): readonly string[] => [
  "env",
  `LD_PRELOAD=${library}`,
  "FAKETIME_DONT_FAKE_MONOTONIC=1",
  `FAKETIME=${seconds < 0 ? "" : "+"}${seconds}`,
];
