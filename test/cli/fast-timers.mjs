// Loaded before the program (node --import): its timers and its clock run 20 times as fast, so that limits of 20 and 45 s end soon.
import { createRequire, syncBuiltinESMExports } from "node:module";

const SPEED = 20;
const promises = createRequire(import.meta.url)("node:timers/promises");
const { setTimeout: sleep } = promises;
const { setTimeout: start } = globalThis;
const { now } = Date;
const startedAt = now();

promises.setTimeout = (ms, ...rest) => sleep(ms / SPEED, ...rest);
globalThis.setTimeout = (callback, ms = 0, ...rest) => start(callback, ms / SPEED, ...rest);
Date.now = () => startedAt + (now() - startedAt) * SPEED;
syncBuiltinESMExports();
