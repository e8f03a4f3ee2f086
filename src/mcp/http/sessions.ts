// The sessions of revisions before 2026-07-28: at most the configured number, each until its client ends it or leaves it idle.
import { isInitializeRequest } from "@modelcontextprotocol/server";
import { reasonOf } from "../../failure.ts";
import type { LegacyClients } from "./house.ts";
import { type HttpService, plain, type Served } from "./port.ts";
import { refusal } from "./refusal.ts";
import { openSession, type Session } from "./session.ts";

const SESSION_NOT_FOUND = -32001;

export interface SessionLimits {
  readonly maxSessions: number;
  readonly sessionIdleMs: number;
}

interface Entry {
  session?: Session;
  id?: string;
  /** Exchanges under way, streams among them. */
  open: number;
  idle?: NodeJS.Timeout;
}

export function createSessions(service: HttpService, { maxSessions, sessionIdleMs }: SessionLimits): LegacyClients {
  /** Ordered by when they fell idle. */
  const entries = new Set<Entry>();
  const byId = new Map<string, Entry>();

  async function end(entry: Entry): Promise<void> {
    clearTimeout(entry.idle);
    entries.delete(entry);
    if (entry.id !== undefined) byId.delete(entry.id);
    await entry.session?.close();
  }

  /** Ends a session where nobody waits for that. */
  function dismiss(entry: Entry): void {
    end(entry).catch((error: unknown) => service.log.warn({ reason: reasonOf(error) }, "a session did not end well"));
  }

  /**
   * Clients often go without ending their session. So a new session takes the place of the one that has been idle longest; its
   * client, if it is still there, gets a 404 and initializes again. Where all sessions are in use, the new one has to wait.
   */
  function makeRoom(): boolean {
    if (entries.size < maxSessions) return true;
    const longestIdle = [...entries].find(({ open }) => open === 0);
    if (!longestIdle) return false;
    service.log.info({ maxSessions }, "the session that was idle longest made room for a new one");
    dismiss(longestIdle);
    return true;
  }

  async function serveIn(entry: Entry, serve: () => Promise<Served>): Promise<Served> {
    clearTimeout(entry.idle);
    entry.open += 1;
    async function left(): Promise<void> {
      entry.open -= 1;
      if (entry.open > 0 || !entries.delete(entry)) return;
      // An initialize that came to nothing.
      if (entry.id === undefined) return await end(entry);
      entries.add(entry);
      entry.idle = setTimeout(() => {
        service.log.info({ sessionIdleMs }, "an idle session has ended");
        dismiss(entry);
      }, sessionIdleMs).unref();
    }
    try {
      const served = await serve();
      return {
        ...served,
        async over(isWhole) {
          await served.over(isWhole);
          await left();
        },
      };
    } catch (error) {
      await left();
      throw error;
    }
  }

  async function begin(request: Request, body: unknown): Promise<Served> {
    if (!makeRoom()) {
      const reason = `All ${maxSessions} sessions are in use (MIC_HTTP_MAX_SESSIONS). Try again when a client has gone.`;
      return plain(refusal(503, reason, { message: body, headers: { "retry-after": "10" } }));
    }
    const entry: Entry = { open: 0 };
    entries.add(entry);
    const served = await serveIn(entry, async () => {
      const session = await openSession(service, {
        onStart(id) {
          entry.id = id;
          byId.set(id, entry);
        },
        onEnd: () => dismiss(entry),
      });
      entry.session = session;
      return await session.serve(request, body);
    });
    return {
      ...served,
      async over(isWhole) {
        await served.over(isWhole);
        // A session whose client never learnt its id is of no use.
        if (!isWhole) await end(entry);
      },
    };
  }

  return {
    async serve(request, body) {
      const id = request.headers.get("mcp-session-id");
      if (id === null) {
        if ([body].flat().some((message) => isInitializeRequest(message))) return await begin(request, body);
        const reason = "The Mcp-Session-Id header is required: a session begins with initialize.";
        return plain(refusal(400, reason, { message: body }));
      }
      const entry = byId.get(id);
      const session = entry?.session;
      if (!entry || !session) {
        const reason = "Session not found: it has ended. Initialize a new one, without the Mcp-Session-Id header.";
        return plain(refusal(404, reason, { code: SESSION_NOT_FOUND, message: body }));
      }
      return await serveIn(entry, () => session.serve(request, body));
    },

    endStreams() {
      for (const { session } of entries) session?.endStream();
    },

    async close() {
      await Promise.all([...entries].map(end));
    },
  };
}
