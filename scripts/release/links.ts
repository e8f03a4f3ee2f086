// Formats the links that add the server to a client with one click, once the package is published.
import { product } from "./product.ts";

const NAME = "mic";
const command = { command: "npx", args: ["-y", `${product.name}@${product.version}`] };

const toBase64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64");
const toQueryString = (values: Readonly<Record<string, string>>): string => new URLSearchParams(values).toString();

/** Install links by client. */
const links = {
  Cursor: `cursor://anysphere.cursor-deeplink/mcp/install?${toQueryString({ name: NAME, config: toBase64(command) })}`,
  "VS Code": `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: NAME, ...command }))}`,
  "LM Studio": `lmstudio://add_mcp?${toQueryString({ name: NAME, config: toBase64(command) })}`,
  Goose: `goose://extension?${[
    toQueryString({ cmd: command.command }),
    ...command.args.map((arg) => toQueryString({ arg })),
    toQueryString({ id: NAME, name: product.title, description: product.description }),
  ].join("&")}`,
} as const;

export const formatLinksPage = (): string =>
  [
    "# Links that add mic-mcp to a client",
    "",
    "They work once the package is published.",
    "",
    ...Object.entries(links).map(([client, link]) => `- ${client}: \`${link}\``),
    "",
  ].join("\n");
