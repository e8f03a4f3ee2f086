// Preloaded into the program: reports on exit which files it has loaded, and which ports it has connected to.
const { writeSync } = require("node:fs");
const { Socket } = require("node:net");

const connected = [];
const { connect } = Socket.prototype;
Socket.prototype.connect = function (...args) {
  const [[options = {}] = []] = args.map((arg) => (Array.isArray(arg) ? arg : [arg]));
  connected.push(options.port ?? options);
  return connect.apply(this, args);
};

process.on("exit", () => {
  const loaded = Object.keys(require.cache);
  writeSync(2, `${JSON.stringify({ loaded, connected })}\n`);
});
