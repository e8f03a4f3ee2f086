// Every sentence that an agent reads, as it reads it: whoever changes one sees it here. `npm run fix` writes the pages anew.
import { readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { tools } from "../../tools/index.ts";
import { pageOf } from "./page.ts";
import { actionScenes } from "./scenes/actions.ts";
import { fewCallsScenes } from "./scenes/few-calls.ts";
import { geographyScenes } from "./scenes/geography.ts";
import { jobScenes } from "./scenes/jobs.ts";
import { viewScenes } from "./scenes/views.ts";
import { workspaceScenes } from "./scenes/workspace.ts";
import { play } from "./stage.ts";

const scenes = {
  ...geographyScenes,
  ...workspaceScenes,
  ...jobScenes,
  ...actionScenes,
  ...fewCallsScenes,
  ...viewScenes,
};

for (const [tool, scene] of Object.entries(scenes))
  test.concurrent(`${tool}: what an agent is given, state by state`, { timeout: 90_000 }, async ({ expect }) => {
    const page = pageOf(tool, await play(tool, scene));
    await expect(page, "not as before: npm run fix writes it; review the change").toMatchFileSnapshot(`${tool}.md`);
  });

test("each tool is shown, and no page is of a tool that there was once", async () => {
  const names = tools.map(({ name }): string => name).sort();
  expect(Object.keys(scenes).sort()).toEqual(names);
  const pages = (await readdir(import.meta.dirname)).filter((file) => file.endsWith(".md"));
  expect(pages.filter((file) => !names.includes(file.slice(0, -3)))).toEqual([]);
});
