// Defines the product's names, addresses and settings for all parts of a release.
import { readFileSync } from "node:fs";
import * as z from "zod/v4";

const Package = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  keywords: z.array(z.string()),
  homepage: z.string(),
  mcpName: z.string(),
  repository: z.object({ url: z.string() }),
  author: z.string(),
});

const { repository, author, ...packageFields } = Package.parse(JSON.parse(readFileSync("package.json", "utf8")));

export const product = {
  ...packageFields,
  title: "mic-mcp: jobs and geography",
  author: { name: author },
  repository: repository.url.replace(/^git\+/, "").replace(/\.git$/, ""),
} as const;

/** Base URL of this version's files once it is published. */
export const downloads = `${product.repository}/releases/download/v${product.version}`;

/** The container image of this version. */
export const image = `ghcr.io/${new URL(product.repository).pathname.slice(1)}:${product.version}`;

/** The named volume of the container, and its folder (container/Dockerfile). */
export const DATA_VOLUME = "mic-mcp-data:/data";

/** A setting that a host requests from the user. */
export interface Setting {
  readonly variable: string;
  readonly title: string;
  readonly description: string;
  readonly isSecret?: boolean;
  readonly isFolder?: boolean;
  readonly isSwitch?: boolean;
}

/** The first Node version that includes SQLite. A bundle contains no addon, because one bundle is for all platforms. */
export const NODE_WITH_SQLITE = ">=22.16.0";

export const settings: readonly Setting[] = [
  {
    variable: "MIC_EMULATOR",
    title: "Emulator",
    description:
      "Set it to true to try everything with an emulator of the MIC API in the server: no other setting is needed.",
    isSwitch: true,
  },
  { variable: "MIC_BASE_URL", title: "Base URL", description: "The base URL of the MIC API." },
  { variable: "MIC_CLIENT_ID", title: "Client id", description: "Needed for the job tools, not for geography." },
  {
    variable: "MIC_CLIENT_SECRET",
    title: "Client secret",
    description: "Needed for the job tools, unless mic-mcp login has stored it in the keychain.",
    isSecret: true,
  },
  {
    variable: "MIC_WORKSPACE_ID",
    title: "Workspace id",
    description: "Needed for the job tools. Load current workspace in the console copies it (micws_…).",
  },
  {
    variable: "MIC_DOWNLOAD_DIR",
    title: "Download folder",
    description: "The folder that tools write files to.",
    isFolder: true,
  },
  {
    variable: "MIC_READ_ONLY",
    title: "Read only",
    description: "Set it to true to offer only tools that change nothing.",
    isSwitch: true,
  },
  {
    variable: "MIC_TOOLSETS",
    title: "Toolsets",
    description: "The tools to offer: geography, jobs, geography,jobs (default) or essentials.",
  },
  {
    variable: "MIC_PROFILE",
    title: "Profile",
    description: "The login to use, if mic-mcp login --profile has stored several.",
  },
];
