// Resources beside the tools: mic://actions, in every protocol era, and what is not there.
import { describe, expect, test } from "vitest";
import * as z from "zod/v4";
import { registerInput } from "../../tools/register-input.ts";
import { emulatorForFile } from "../support/emulator.ts";
import { connectionForFile, emulatorEnv, eras } from "../support/mcp.ts";

const emulator = emulatorForFile({}, (started) => started);
const Content = z.object({ actions: z.array(z.looseObject({ tool: z.string(), idempotencyKey: z.string() })) });

describe.each(eras)("%s", (era) => {
  const connection = connectionForFile(era, () => ({ env: emulatorEnv(emulator()) }));
  const geography = connectionForFile(era, () => ({ env: { MIC_TOOLSETS: "geography" } }));

  test("lists the journal, with no templates yet", async () => {
    expect(await connection().listResources()).toEqual([
      {
        uri: "mic://actions",
        name: "actions",
        title: "The action journal",
        description: expect.stringContaining("list_actions"),
        mimeType: "application/json",
      },
    ]);
    expect(await connection().listResourceTemplates()).toEqual([]);
  });

  test("reads what list_actions says", async () => {
    const empty = await connection().readResource("mic://actions");
    expect(empty).toEqual([{ uri: "mic://actions", mimeType: "application/json", text: '{"actions":[]}' }]);
    const args = { workspaceId: emulator().workspaceId, inputKind: "M4_FILE", referenceId: emulator().fileIds[0] };
    const registered = await connection().callTool(registerInput.name, { ...args, clientReference: "a secret plan" });
    const [content] = await connection().readResource("mic://actions");
    const { actions } = Content.parse(JSON.parse(content?.text ?? ""));
    expect(actions).toEqual((await connection().callTool("list_actions")).structured?.["actions"]);
    expect(actions).toMatchObject([{ tool: "register_input", state: "succeeded", attempts: 1 }]);
    expect(actions[0]).toHaveProperty("resourceId", Object(registered.structured?.["data"]).id);
    expect(content?.text, "bodies stay in the journal").not.toContain("a secret plan");
  });

  test.each(["mic://nothing", "mic://actions/", "mic://ACTIONS", "file:///etc/passwd", ""])(
    "knows no %j, in the protocol's own words",
    async (uri) => {
      const error = await connection()
        .readResource(uri)
        .then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
      expect(error).toMatchObject({ code: -32602 });
      expect(error).toMatchObject({ data: { uri } });
    },
  );

  test("without the jobs there are no resources", async () => {
    expect(geography().capabilities()).not.toHaveProperty("resources");
    expect(connection().capabilities()).toHaveProperty("resources");
  });
});
