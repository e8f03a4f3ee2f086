// Writes the folders that coding agents install as a whole: the program, its skills, and a manifest for each host.
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { NODE_WITH_SQLITE } from "./bundle.ts";
import { writeJson, writeText } from "./files.ts";
import { product, settings } from "./product.ts";

const NAME = "mic";

const { version, description, license, keywords, homepage, repository, author } = product;
const manifestFields = { name: NAME, version, description, author, homepage, repository, license, keywords };

const README = `# mic

Jobs and India's geography for AI agents. An agent registers files, runs jobs by recipe, follows, retries and cancels them, and reads
usage; a repeated call never runs twice, and unknown outcomes are reported as unknown. It answers questions about India's states, districts and
mandals from the live catalogue, with coverage and date. Three skills say which calls to make, in which order.

Install it with \`/plugin install ${NAME} --marketplace ${new URL(repository).pathname.slice(1)}\`. Set \`MIC_BASE_URL\` for the service, or
\`MIC_EMULATOR=1\` to try everything with an emulator inside the server. Credentials: \`npx ${product.name} login\` keeps them in the operating
system's keychain. It needs Node ${NODE_WITH_SQLITE.slice(2)} or newer.
`;

/** Formats a placeholder in the syntax that hosts replace with a value. */
const placeholder = (name: string): string => `$\{${name}}`;

async function copyProgram(unpacked: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const part of ["dist", "skills", "LICENSE"])
    await cp(join(unpacked, part), join(folder, part), { recursive: true });
}

/** Writes one folder for Claude Code, Codex and Cursor, inside a marketplace that contains nothing else. */
export async function writePlugin(release: string, unpacked: string, icon: string): Promise<void> {
  const marketplace = join(release, "plugin");
  const folder = join(marketplace, NAME);
  await copyProgram(unpacked, folder);
  await cp(icon, join(folder, "assets", "icon.png"));
  await writeText(join(folder, "README.md"), README);
  const listing = {
    name: product.name,
    description,
    owner: author,
    plugins: [{ name: NAME, source: `./${NAME}`, description, version, author }],
  };
  for (const host of ["claude", "cursor"]) {
    await writeJson(join(marketplace, `.${host}-plugin`, "marketplace.json"), listing);
    await writeJson(join(folder, `.${host}-plugin`, "plugin.json"), manifestFields);
  }
  await writeJson(join(folder, ".codex-plugin", "plugin.json"), {
    ...manifestFields,
    skills: "./skills/",
    mcpServers: "./.codex.mcp.json",
    interface: {
      displayName: product.title,
      developerName: author.name,
      shortDescription: description,
      longDescription: description,
      category: "Productivity",
      capabilities: [],
      websiteURL: homepage,
      defaultPrompt: ["Which districts of Telangana have the most mandals?"],
      composerIcon: "./assets/icon.png",
      logo: "./assets/icon.png",
    },
  });
  // Claude Code provides the path of the plugin in a placeholder; Codex starts the server in the plugin's folder.
  await writeJson(join(folder, ".mcp.json"), {
    mcpServers: { [NAME]: { command: "node", args: [`${placeholder("CLAUDE_PLUGIN_ROOT")}/dist/cli.js`, "serve"] } },
  });
  await writeJson(join(folder, ".codex.mcp.json"), {
    mcpServers: { [NAME]: { command: "node", args: ["./dist/cli.js", "serve"], cwd: "." } },
  });
}

/** Writes the extension for Gemini CLI, which asks for each setting during installation and stores the secret as sensitive. */
export async function writeGeminiExtension(release: string, unpacked: string): Promise<void> {
  const folder = join(release, "gemini-extension");
  await copyProgram(unpacked, folder);
  const program = ["extensionPath", "/"].map(placeholder).join("");
  await writeJson(join(folder, "gemini-extension.json"), {
    name: NAME,
    version,
    description,
    mcpServers: {
      [NAME]: {
        command: "node",
        args: [`${program}dist${placeholder("/")}cli.js`, "serve"],
        env: Object.fromEntries(settings.map(({ variable }) => [variable, `$${variable}`])),
      },
    },
    settings: settings.map(({ variable, title, description: what, isSecret = false }) => ({
      name: title,
      description: what,
      envVar: variable,
      sensitive: isSecret,
    })),
  });
}
