// Formats the links that add the server to a client with one click, once the package is published.
import { product, type Setting, settings } from "./product.ts";

const NAME = "mic";
const command = { command: "npx", args: ["-y", `${product.name}@${product.version}`] };
const emulated = { ...command, args: [...command.args, "serve", "--emulator"] };

const inputName = ({ variable }: Setting): string => variable.slice("MIC_".length).toLowerCase();
const asked = settings.filter(({ variable }) => /^MIC_(BASE_URL|CLIENT_ID|CLIENT_SECRET|WORKSPACE_ID)$/.test(variable));

/** VS Code asks for these values when it starts the server for the first time, and stores secret ones encrypted. */
const inputs = asked.map((setting) => ({
  type: "promptString",
  id: inputName(setting),
  description: `${setting.title}. ${setting.description}`,
  password: setting.isSecret ?? false,
}));
const configured = {
  ...command,
  env: Object.fromEntries(asked.map((setting) => [setting.variable, `\${input:${inputName(setting)}}`])),
};

const toBase64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64");
const toQueryString = (values: Readonly<Record<string, string>>): string =>
  new URLSearchParams(values).toString().replaceAll("+", "%20");

/** Links by the text of their badge. GitHub removes links that do not start with https. */
const badges: readonly (readonly [text: string, image: string, link: string])[] = [
  [
    "Try it in Cursor",
    "Cursor-Try_with_the_emulator-black",
    `https://cursor.com/en/install-mcp?${toQueryString({ name: NAME, config: toBase64(emulated) })}`,
  ],
  [
    "Install in VS Code",
    "VS_Code-Install-0098FF",
    `https://vscode.dev/redirect/mcp/install?${toQueryString({ name: NAME, inputs: JSON.stringify(inputs), config: JSON.stringify(configured) })}`,
  ],
];

export const formatBadges = (): string =>
  badges.map(([text, image, link]) => `[![${text}](https://img.shields.io/badge/${image})](${link})`).join("\n");

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
