// Exit code 0 while the server in this container is there: one on stdio as long as its process lives, one over HTTP
// (serve --http or --teams, with --port P) while it answers on its port. 401 and 403 are answers.
const { readFileSync } = require("node:fs");

const args = readFileSync("/proc/1/cmdline", "utf8").split("\0");
const isOverHttp = args.includes("--http") || args.includes("--teams");
const port = isOverHttp ? args[args.indexOf("--port") + 1] : undefined;

if (port !== undefined)
  fetch(`http://127.0.0.1:${port}/healthz`).then(
    ({ status }) => {
      process.exitCode = status < 500 ? 0 : 1;
    },
    () => {
      process.exitCode = 1;
    },
  );
