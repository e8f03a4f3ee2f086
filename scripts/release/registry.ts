// Creates server.json, which lists the server in the official MCP registry as an npm package, a bundle and an image.
import { basename } from "node:path";
import { sha256 } from "./files.ts";
import { DATA_VOLUME, downloads, image, product, type Setting, settings } from "./product.ts";

const SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

const toEnvironmentVariable = ({ variable: name, description, isSecret = false, isFolder = false }: Setting) => ({
  name,
  description,
  isRequired: false,
  isSecret,
  ...(isFolder && { format: "filepath" }),
});

const transport = { type: "stdio" };

export async function createServerJson(bundle: string) {
  const { version } = product;
  const environmentVariables = settings.map(toEnvironmentVariable);
  return {
    $schema: SCHEMA,
    name: product.mcpName,
    title: product.title,
    description: product.description,
    version,
    websiteUrl: product.homepage,
    repository: { url: product.repository, source: "github" },
    packages: [
      { registryType: "npm", identifier: product.name, version, runtimeHint: "npx", transport, environmentVariables },
      {
        registryType: "mcpb",
        identifier: `${downloads}/${basename(bundle)}`,
        version,
        fileSha256: await sha256(bundle),
        transport,
      },
      {
        registryType: "oci",
        identifier: image,
        runtimeHint: "docker",
        // Without a named volume, the journal would be deleted with the container.
        runtimeArguments: [
          {
            type: "named",
            name: "-v",
            value: DATA_VOLUME,
            description: "Volume of the journal, which prevents a repeated call from running twice.",
            isRequired: true,
          },
        ],
        transport,
        // A folder of the host does not exist in the container.
        environmentVariables: settings.filter(({ isFolder }) => !isFolder).map(toEnvironmentVariable),
      },
    ],
  };
}
