// This is the entry point of a deployment's code, which src/cli/ loads on demand. The build bundles it separately (scripts/build.ts), with
// copies of all imports, including the error classes.
export { examineTeams } from "./commands/doctor.ts";
export { serveTeams as serve } from "./commands/serve.ts";
export { teams } from "./commands/teams.ts";
