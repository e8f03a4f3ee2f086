// Reads of sealed sessions: a server is kept for each of the sessions that read last, so that a read need not make one. A session
// that is forgotten here costs its next read a server.
import { reasonOf } from "../../../failure.ts";
import { createReads } from "../../messages/reads.ts";
import type { Ask } from "../answer.ts";
import type { HttpService } from "../port.ts";
import { Wire } from "../wire.ts";
import { initializeAgain, type Session } from "./session.ts";

const MAX_KEPT = 4;

interface Reader {
  readonly ask: Ask;
  close(): Promise<void>;
}

async function openReader(service: HttpService, session: Session): Promise<Reader> {
  const reads = createReads();
  const wire = new Wire(reads);
  const subscriptions = service.createSubscriptions();
  const server = await service.createServer({ subscriptions, onReads: reads.serve }, "legacy");
  wire.onerror = (error) => service.log.debug({ reason: reasonOf(error) }, "protocol");
  await server.connect(wire);
  const again = () => new Promise((resolve) => wire.ask(initializeAgain(session, "again"), resolve));
  await (service.telemetry?.aside(again) ?? again());
  wire.sessionId = session.id;
  return {
    ask: wire.ask,
    async close() {
      subscriptions.close();
      await server.close();
    },
  };
}

interface Kept {
  readonly reader: Promise<Reader>;
  reading: number;
  isForgotten: boolean;
}

export type Readers = ReturnType<typeof createReaders>;

export function createReaders(service: HttpService) {
  const kept = new Map<string, Kept>();
  const all = new Set<Kept>();

  function dismiss(one: Kept): void {
    if (!one.isForgotten || one.reading > 0 || !all.delete(one)) return;
    one.reader
      .then((reader) => reader.close())
      .catch((error: unknown) => service.log.warn({ reason: reasonOf(error) }, "a server of reads did not end well"));
  }

  function forget(id: string): void {
    const one = kept.get(id);
    if (!one) return;
    kept.delete(id);
    one.isForgotten = true;
    dismiss(one);
  }

  function of(session: Session): Kept {
    const one = kept.get(session.id) ?? { reader: openReader(service, session), reading: 0, isForgotten: false };
    // The latest stands last.
    kept.delete(session.id);
    kept.set(session.id, one);
    all.add(one);
    one.reader.catch(() => forget(session.id));
    one.reading += 1;
    for (const oldest of kept.keys()) {
      if (kept.size <= MAX_KEPT) break;
      forget(oldest);
    }
    return one;
  }

  return {
    /** Gives `work` how to ask the session's server. It stays until that settles. */
    async read(session: Session, work: (ask: Ask) => Promise<void>): Promise<void> {
      const one = of(session);
      try {
        await work((await one.reader).ask);
      } finally {
        one.reading -= 1;
        dismiss(one);
      }
    },

    forget,

    /** Aborts reads under way. */
    async close(): Promise<void> {
      const opened = await Promise.allSettled([...all].map(({ reader }) => reader));
      kept.clear();
      all.clear();
      await Promise.all(opened.map((each) => (each.status === "fulfilled" ? each.value.close() : undefined)));
    },
  };
}
