// A client that sends requests and never reads the answers, until the test kills it. Its task is JSON on the command line:
// {server?, url?, messages, headers?}.
import { spawn } from "node:child_process";
import { connect } from "node:net";

const { server, url, messages, headers = {} } = JSON.parse(process.argv[2] ?? "{}");
// The process stays alive until it is killed.
setInterval(() => undefined, 60_000);

if (server) {
  const child = spawn(process.execPath, server, { stdio: ["pipe", "pipe", "ignore"] });
  child.stdout.pause();
  for (const message of messages) child.stdin.write(`${JSON.stringify(message)}\n`);
} else {
  const { hostname, port, pathname } = new URL(url);
  const body = JSON.stringify(messages[0]);
  const lines = Object.entries({ ...headers, host: `${hostname}:${port}`, "content-length": Buffer.byteLength(body) });
  const socket = connect({ host: hostname, port: Number(port) });
  socket.pause();
  socket.write(
    `POST ${pathname} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
  );
}
