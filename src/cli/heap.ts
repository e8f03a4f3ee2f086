// How V8 keeps house in a server: it lives long, and what it keeps alive is little. Measured by `npm run bench`.
import { setFlagsFromString } from "node:v8";

/** V8 reads these anew each time that it collects or compiles. */
const OURS = [
  // What outlived its call by chance is collected when the heap has doubled: unasked, V8 lets it grow to four times its size.
  "--heap-growing-percent=100",
  // The space of new objects has grown as far as loading the program needs: 8 MB instead of 32.
  "--semi-space-growth-factor=1",
  // undici's parser of HTTP is WebAssembly: to optimize it takes 30 MB for a moment, for microseconds of each answer.
  "--liftoff-only",
];
const USUAL = [
  "--heap-growing-percent=0",
  "--semi-space-growth-factor=2",
  "--no-liftoff-only",
  // The one before has switched these off as well.
  "--wasm-tier-up",
  "--wasm-dynamic-tiering",
];

/** For a program that is loaded, until it ends: V8 takes a code cache only under the flags that it was made under. */
export function keepHeapSmall(): void {
  for (const flag of OURS) setFlagsFromString(flag);
  process.prependOnceListener("exit", () => {
    for (const flag of USUAL) setFlagsFromString(flag);
  });
}
