// An instance as the geography knows it, in a process of its own: its task as JSON on the command line, one order a line on stdin, an
// answer a line on stdout.
import { createInterface } from "node:readline";
import * as z from "zod/v4";
import { openPostgres } from "../../../src/actions/store/postgres.ts";
import { geographyOn } from "../../../src/cli/shared-geography.ts";
import { needsForAll } from "../../../src/geography/districts.ts";
import { createGeography, type Geography } from "../../../src/geography/geography.ts";
import { systemTiming } from "../../../src/service/attempts.ts";
import { createService, type Service } from "../../../src/service/call.ts";
import { createTransport } from "../../../src/service/transport.ts";

const Task = z.object({
  databaseUrl: z.string(),
  baseUrl: z.string(),
  windowMs: z.int(),
  /** It says so when it has its first permit in hand, and sends nothing: it is about to be killed. */
  isMortal: z.boolean(),
});
const Order = z.discriminatedUnion("ask", [
  z.object({ ask: z.literal("country"), questions: z.int() }),
  z.object({ ask: z.literal("document"), withinMs: z.int() }),
]);

const { databaseUrl, baseUrl: url, windowMs, isMortal } = Task.parse(JSON.parse(process.argv[2] ?? ""));
const baseUrl = async () => url;
const timing = systemTiming;

const real = createService({
  baseUrl,
  tokens: { get: async () => "token", mayHaveEnded: () => false, discard: () => undefined },
  transport: createTransport({ proxies: false }),
  timing,
});
const say = (what: unknown): void => void process.stdout.write(`${JSON.stringify(what)}\n`);
const mortal: Pick<Service, "call"> = {
  call() {
    say("has a permit");
    return new Promise(() => undefined);
  },
};
const service = isMortal ? mortal : real;
const database = await openPostgres(databaseUrl);
const shared = geographyOn(database, { baseUrl, budget: "trial", now: timing.now });
const geography: Geography = createGeography({ service, perMinute: 28, windowMs, timing, ...shared });

const contextFor = (ms: number) => ({ signal: new AbortController().signal, deadlineAt: timing.now() + ms });

/** Asks as often as it takes. Resolves with how many lists the answer stands on. */
async function country(): Promise<number> {
  for (;;) {
    const { country, unread } = await geography.gather(
      {
        about: ({ states }) => states.value.states,
        needs: (known) => needsForAll(known.states.value.states, known),
        notNeeded: "",
        waitMs: 40_000,
        onProgress: () => undefined,
      },
      contextFor(45_000),
    );
    if (unread.length === 0) return country.lists.size;
  }
}

async function obey(order: z.infer<typeof Order>): Promise<unknown> {
  if (order.ask === "country") return await Promise.all(Array.from({ length: order.questions }, country));
  return await geography.openApi(contextFor(order.withinMs)).then(
    () => "read",
    () => "not read",
  );
}

say("ready");
for await (const line of createInterface(process.stdin)) say(await obey(Order.parse(JSON.parse(line))));
process.exit(0);
