// This module states on the pages that nothing is published yet. The first release sets IS_RELEASED, and `npm run fix` removes the notes.
import { posix } from "node:path";

const IS_RELEASED = false;

/** Text that needs a published package, image, bundle or plugin. */
export const NEEDS_RELEASE =
  /\bnpx (?:-y |--yes )?mic-mcp|npm install --global mic-mcp|ghcr\.io\/mic-mcp|mic-mcp\.mcpb|\bplugin (?:marketplace|add|install)|gemini extensions install/;

/** The pages for users and operators with such a text. */
export const PAGES = ["docs/use/clients.md", "docs/operate/teams.md", "examples/README.md"];

/** Returns the note; an empty string after the release. `page`: its path in the repository. */
export function releaseNote(page: string): string {
  if (IS_RELEASED) return "";
  const clone = `${posix.relative(posix.dirname(page), "docs/use/quick-start.md")}#1-build`;
  const note = (prefix: string) =>
    `> 0.1.0 is not published yet, nor are the plugins, the image and the bundle. Until the release, run
> \`npm ci && npm run build && npm pack && npm install --global ${prefix}./mic-mcp-0.1.0.tgz\` in [a clone](${clone}), and \`mic-mcp\` instead of \`npx mic-mcp\`.`;
  // A service of all users cannot read a home folder.
  return page.startsWith("docs/operate/")
    ? note("")
    : `${note("--prefix ~/.local ")}
> \`~/.local/bin\` must be in your PATH. In the file of a client, write \`node\` and the path of \`dist/cli.js\` in the clone instead of \`npx -y mic-mcp\`.`;
}
