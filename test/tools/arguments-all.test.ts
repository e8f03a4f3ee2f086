// What holds for the arguments of every tool: unknown, missing, rounded or no object at all, they are refused here.
import { expect, test } from "vitest";
import { rows } from "../operations.ts";
import { proves } from "../proves.ts";
import { forEachEra } from "./eras.ts";

forEachEra((bench) => {
  for (const { id, tool, adds = [] } of rows) {
    proves(
      ["4.1/closed-query", "4.2/closed-query", "4.2/bodies-closed"],
      `${tool} refuses an unknown argument by name and lists the valid ones`,
      async () => {
        const args = await bench().argumentsFor(id);
        const schema = (await bench().connection.listTools()).find(({ name }) => name === tool)?.inputSchema;
        const valid = Object.keys(schema?.["properties"] ?? {});
        await bench().sendsNothing(async () => {
          for (const unknown of ["bogus", "workspace_id", "Limit", "a/b~c", "constructor"]) {
            const pointer = `/${unknown.replaceAll("~", "~0").replaceAll("/", "~1")}`;
            const { text } = await bench().refuses(tool, { ...args, [unknown]: 1 }, pointer);
            for (const name of valid) expect(text).toContain(name);
          }
        });
      },
    );

    test(`${tool} names each required argument that is missing`, async () => {
      const args = await bench().argumentsFor(id);
      const optional = new Set<string>([...adds, "limit", "cursor", "sort"]);
      const required = Object.keys(args).filter((name) => !optional.has(name));
      if (required.length === 0) {
        await bench().ok(tool);
        return;
      }
      await bench().sendsNothing(async () => {
        await bench().refuses(tool, {}, ...required.map((name) => `/${name}`));
        for (const name of required) {
          const { [name]: _, ...rest } = args;
          const { fieldErrors } = await bench().refuses(tool, rest, `/${name}`);
          expect(fieldErrors).toHaveLength(1);
        }
      });
    });
  }

  test("every wrong argument is named at once", async () => {
    const args = await bench().argumentsFor("retryMicJob");
    const wrong = { ...args, retryMode: "AGAIN", reason: "", bogus: 1, idempotencyKey: "short" };
    await bench().sendsNothing(() =>
      bench().refuses("retry_job", wrong, "/retryMode", "/reason", "/bogus", "/idempotencyKey"),
    );
  });

  test("an integer that JSON has rounded on its way here is not sent on", async () => {
    const args = await bench().argumentsFor("createMicJob");
    const parameterValues = { deep: [{ size: 2 ** 53 }] };
    await bench().sendsNothing(() =>
      bench().refuses("submit_job", { ...args, parameterValues }, "/parameterValues/deep/0/size"),
    );
  });

  test("parameterValues as deep as a message can be harm nothing", async () => {
    const args = await bench().argumentsFor("createMicJob");
    let parameterValues: unknown = {};
    for (let depth = 0; depth < 2000; depth += 1) parameterValues = { a: parameterValues };
    const result = await bench().call("submit_job", { ...args, parameterValues });
    expect(["invalid_arguments", "rejected"]).toContain(result.error?.kind);
    await bench().ok("get_job", await bench().argumentsFor("getMicJob"));
  });
});
