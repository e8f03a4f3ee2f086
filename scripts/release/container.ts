// Writes the build folder of the container image, and its entry in Docker's catalog.
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeText } from "./files.ts";
import { DATA_VOLUME, image, product, type Setting, settings } from "./product.ts";

/** A JSON string is also a YAML string. */
const toYaml = (value: string): string => JSON.stringify(value);

const toParameterName = ({ variable }: Setting): string => variable.slice("MIC_".length).toLowerCase();

function createCatalogEntry(): string {
  const secrets = settings.filter(({ isSecret }) => isSecret);
  const others = settings.filter(({ isSecret, isFolder }) => !isSecret && !isFolder);
  const lines = [
    `name: ${product.name}`,
    `image: ${image}`,
    "type: server",
    // Without it, Docker's gateway starts a new container for each call.
    "longLived: true",
    "meta:",
    "  category: data-analytics",
    `  tags: [${product.keywords.join(", ")}]`,
    "about:",
    `  title: ${toYaml(product.title)}`,
    `  description: ${toYaml(product.description)}`,
    "source:",
    `  project: ${product.repository}`,
    "run:",
    `  volumes: [${toYaml(DATA_VOLUME)}]`,
    "config:",
    "  secrets:",
    ...secrets.flatMap((setting) => [
      `    - name: ${product.name}.${toParameterName(setting)}`,
      `      env: ${setting.variable}`,
      `      example: <${setting.title.toLowerCase()}>`,
    ]),
    "  env:",
    ...others.flatMap((setting) => [
      `    - name: ${setting.variable}`,
      `      value: "{{${product.name}.${toParameterName(setting)}}}"`,
    ]),
    "  parameters:",
    "    type: object",
    "    properties:",
    ...others.flatMap((setting) => [
      `      ${toParameterName(setting)}:`,
      "        type: string",
      `        description: ${toYaml(setting.description)}`,
    ]),
  ];
  return `${lines.join("\n")}\n`;
}

/** Writes the folder for `docker build container`. */
export async function writeContainer(release: string, unpacked: string): Promise<void> {
  const folder = join(release, "container");
  for (const part of ["dist", "skills", "LICENSE", "package.json"])
    await cp(join(unpacked, part), join(folder, "package", part), { recursive: true });
  await cp(join("container", "healthcheck.js"), join(folder, "healthcheck.js"));
  const dockerfile = (await readFile(join("container", "Dockerfile"), "utf8"))
    .replace("MCP_NAME", product.mcpName)
    .replace("REPOSITORY", product.repository)
    .replace("LICENSE_ID", product.license);
  await writeText(join(folder, "Dockerfile"), dockerfile);
  await writeText(join(folder, "server.yaml"), createCatalogEntry());
}
