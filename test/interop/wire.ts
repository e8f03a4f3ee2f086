// Records the traffic between any client and our server, because a client's own output does not prove it.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
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
  /** null if the server refused a message without a valid id. */
  id: Id.nullish(),
  method: z.string().optional(),
  params: z.looseObject({ name: z.string().optional(), protocolVersion: z.string().optional() }).optional(),
  result: z.looseObject({}).optional(),
  error: z.looseObject({}).optional(),
});
export type Message = z.infer<typeof Message>;

/**
 * Pairs requests and responses. An id may be reused after its response, so each request belongs to the first response with its id
 * after it.
 */
export function pairExchanges(messages: readonly ({ readonly from: string } & Message)[]) {
  return messages.flatMap(({ from, id, method, params = {} }, at) => {
    if (from !== "client" || method === undefined || id == null) return [];
    const isAnswer = (later: (typeof messages)[number]) =>
      later.from === "server" && later.method === undefined && later.id === id;
    const answer = messages.slice(at).find(isAnswer);
    return [{ method, params, result: answer?.result, error: answer?.error }];
  });
}

export type Exchange = ReturnType<typeof pairExchanges>[number];

/** The recorded server as a command that a client starts; its records are stored in this folder. */
export function createTappedServer(folder: string, args: readonly string[]) {
  const [recordFile, tap] = [join(folder, "wire.jsonl"), join(folder, "tap.mjs")];
  // Compiled, because it starts with each session of a client.
  buildSync({ entryPoints: ["test/interop/tap.ts"], outfile: tap, platform: "node", format: "esm" });
  return {
    command: process.execPath,
    args: [tap, recordFile, process.execPath, ...entryArguments(), ...args],
    readCapture() {
      const lines = existsSync(recordFile) ? readFileSync(recordFile, "utf8").trim().split("\n") : [];
      const records = lines.map((line) => Note.parse(JSON.parse(line)));
      const linesFrom = (from: string) => records.filter((note) => note.from === from).map(({ line }) => line);
      const sessions = [...new Set(records.map(({ session }) => session))];
      const messages = records.filter(({ from }) => from === "client" || from === "server");
      return {
        exchanges: sessions.flatMap((each) =>
          pairExchanges(
            messages
              .filter(({ session }) => session === each)
              .map(({ from, line }) => ({ from, ...Message.parse(JSON.parse(line)) })),
          ),
        ),
        log: linesFrom("log").join("\n"),
        /** Process ids of the servers, one for each session. */
        pids: linesFrom("start").map(Number),
        exits: linesFrom("exit"),
      };
    },
  };
}
