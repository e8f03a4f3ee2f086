// What went over the wire between a client and our server, whoever the client is: the one thing that its own words do not
// prove.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import * as z from "zod/v4";
import { entryArguments } from "../support/mcp.ts";

const Note = z.object({
  session: z.int(),
  from: z.enum(["start", "client", "server", "log", "exit"]),
  line: z.string(),
});

const Id = z.union([z.string(), z.number()]);
export const Message = z.looseObject({
  /** null: of a refusal of what was no request. */
  id: Id.nullish(),
  method: z.string().optional(),
  params: z.looseObject({ name: z.string().optional(), protocolVersion: z.string().optional() }).optional(),
  result: z.looseObject({}).optional(),
  error: z.looseObject({}).optional(),
});
export type Message = z.infer<typeof Message>;

/** A request of the client's, and what it was answered. */
export interface Exchange {
  readonly method: string;
  readonly params: NonNullable<Message["params"]>;
  readonly result: Message["result"];
  readonly error: Message["error"];
}

export interface Wire {
  readonly exchanges: readonly Exchange[];
  /** What the server wrote to stderr. */
  readonly log: string;
  /** The servers' processes, one for each session. */
  readonly pids: readonly number[];
  /** The exit codes of those servers that ended by themselves: a client may kill them. */
  readonly exits: readonly string[];
}

/** How a client reaches the server. */
export interface Tapped {
  readonly command: string;
  readonly args: readonly string[];
  wire(): Wire;
}

/** Compiled, since it starts with every session that a client begins. */
function tapIn(folder: string): string {
  const outfile = join(folder, "tap.mjs");
  buildSync({
    entryPoints: [fileURLToPath(new URL("./tap.ts", import.meta.url))],
    outfile,
    platform: "node",
    format: "esm",
  });
  return outfile;
}

/** An id may come again after it was answered: answers belong to the requests before them. */
export function pair(messages: readonly ({ readonly from: string } & Message)[]): readonly Exchange[] {
  return messages.flatMap(({ from, id, method, params = {} }, at) => {
    if (from !== "client" || method === undefined || id == null) return [];
    const isAnswer = (later: (typeof messages)[number]) =>
      later.from === "server" && later.method === undefined && later.id === id;
    const answer = messages.slice(at).find(isAnswer);
    return [{ method, params, result: answer?.result, error: answer?.error }];
  });
}

/** The server as a command that a client starts, its notes in this folder. */
export function tappedServer(folder: string, args: readonly string[]): Tapped {
  const notes = join(folder, "wire.jsonl");
  return {
    command: process.execPath,
    args: [tapIn(folder), notes, process.execPath, ...entryArguments(), ...args],
    wire() {
      const lines = existsSync(notes) ? readFileSync(notes, "utf8").trim().split("\n") : [];
      const noted = lines.map((line) => Note.parse(JSON.parse(line)));
      const of = (from: string) => noted.filter((note) => note.from === from).map(({ line }) => line);
      const sessions = [...new Set(noted.map(({ session }) => session))];
      const messages = noted.filter(({ from }) => from === "client" || from === "server");
      return {
        exchanges: sessions.flatMap((each) =>
          pair(
            messages
              .filter(({ session }) => session === each)
              .map(({ from, line }) => ({ from, ...Message.parse(JSON.parse(line)) })),
          ),
        ),
        log: of("log").join("\n"),
        pids: of("start").map(Number),
        exits: of("exit"),
      };
    },
  };
}
