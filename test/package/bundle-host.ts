// Starts the server of an MCP bundle as a desktop host does: replaces the variables of its manifest (MANIFEST.md of mcpb, version 0.3).
import * as z from "zod/v4";

const text = z.string();
/** The fields of a manifest that these tests read. `npm run release` validates all of them by the bundler's schema. */
export const Manifest = z.looseObject({
  server: z.looseObject({
    mcp_config: z.strictObject({ command: text, args: z.array(text), env: z.record(text, text) }),
  }),
  user_config: z.record(
    text,
    z.looseObject({
      required: z.boolean().optional(),
      default: z.union([text, z.number(), z.boolean()]).optional(),
    }),
  ),
});

/**
 * Returns the arguments and the environment of the server in the unpacked bundle. Throws if a required answer is missing; a
 * variable without an answer and without a default stays as it is.
 */
export function resolveServer(
  { server, user_config: options }: z.infer<typeof Manifest>,
  folder: string,
  home: string,
  answers: Readonly<Record<string, string>>,
) {
  const variables = new Map([
    ["__dirname", folder],
    ["HOME", home],
    ["/", "/"],
  ]);
  for (const [name, { required, default: value }] of Object.entries(options)) {
    const answer = answers[name] ?? value;
    if (answer !== undefined) variables.set(`user_config.${name}`, String(answer));
    else if (required) throw new Error(`the user must answer ${name}`);
  }
  const replace = (template: string): string =>
    template.replace(/\$\{([^}]+)\}/g, (all, name: string) => variables.get(name) ?? all);
  const env = Object.fromEntries(Object.entries(server.mcp_config.env).map(([name, value]) => [name, replace(value)]));
  return { args: server.mcp_config.args.map(replace), env };
}
