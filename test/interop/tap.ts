// Forwards all bytes between a client and the server on stdio, and records each line. Arguments: the file for the records, the command.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

const [recordFile = "", command = "", ...args] = process.argv.slice(2);
const record = (entry: object): void =>
  appendFileSync(recordFile, `${JSON.stringify({ session: process.pid, ...entry })}\n`);

const server = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });

record({ from: "start", line: String(server.pid) });
const listen = (from: string, stream: Readable): void => {
  createInterface(stream).on("line", (line) => record({ from, line }));
};
listen("client", process.stdin);
listen("server", server.stdout);
listen("log", server.stderr);
process.stdin.pipe(server.stdin);
server.stdout.pipe(process.stdout);
server.stderr.pipe(process.stderr);
for (const stream of [server.stdin, process.stdout, process.stderr]) stream.on("error", () => undefined);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => server.kill(signal));
server.once("close", (code) => {
  // A server that the client killed with a signal has no exit code.
  if (code !== null) record({ from: "exit", line: String(code) });
  process.exit(code ?? 1);
});
