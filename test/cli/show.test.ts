// Tests `mic-mcp show`: a view as one file with its data, rendered by a browser without a host or network.
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { CHROMIUM, pagesForFile } from "../apps/browser.ts";
import { serviceForTest } from "../emulator/service.ts";
import { FILE, runJobToEnd } from "../emulator/work.ts";
import { runInProcess as run } from "../support/command.ts";
import { emulatorEnv } from "../support/mcp.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { linuxMissing, testUnless } from "../support/unless.ts";

async function renderPage(words: readonly string[], env: Readonly<Record<string, string>>, expectedCode = 0) {
  const { code, stdout, stderr } = await run(["show", ...words], { env });
  expect(code, stderr).toBe(expectedCode);
  const path = stdout.trim();
  onTestFinished(() => rm(dirname(path), { recursive: true, force: true }));
  return { path, stderr };
}

test("a page is readable only by its owner, contains its data and no secret", async () => {
  const { emulator } = await serviceForTest();
  const env = { ...emulatorEnv(emulator), MIC_WORKSPACE_ID: emulator.workspaceId };
  for (const words of [["divisions"], ["divisions", "district", "states=Goa"], ["usage"], ["actions"]]) {
    const { path, stderr } = await renderPage(words, env);
    expect(stderr).toBe("");
    if (process.platform !== "win32") expect((await stat(path)).mode & 0o777).toBe(0o600);
    const html = await readFile(path, "utf8");
    expect(html).toContain('<script type="application/json" id="data">');
    expect(html).not.toContain(emulator.clientSecret);
  }
});

test("an unreadable resource or an unknown view is an error, and no page is created", async () => {
  const { emulator } = await serviceForTest();
  const env = emulatorEnv(emulator);
  const missing = await run(["show", "job", "micjob_00000000000000000000000000000000"], { env });
  expect(missing).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("not_found") });
  for (const words of [["jobs"], []])
    expect(await run(["show", ...words], { env })).toMatchObject({ code: 2, stdout: "" });
  expect((await run(["show", "jobs"], { env })).stderr).toContain("Did you mean job?");
});

testUnless(linuxMissing, "show --open passes the page to xdg-open, or exits with 1 if no browser starts", async () => {
  const { emulator } = await serviceForTest();
  const [folder, emptyFolder] = [await folderForTest(), await folderForTest()];
  const openedUrlFile = join(folder, "opened");
  await writeFile(join(folder, "xdg-open"), `#!/bin/sh\nprintf %s "$1" > ${openedUrlFile}\n`, { mode: 0o755 });
  const show = (PATH: string, code: number) =>
    renderPage(["divisions", "--open"], { ...emulatorEnv(emulator), PATH }, code);
  const opened = await show(`${folder}:${process.env["PATH"]}`, 0);
  await expect.poll(() => readFile(openedUrlFile, "utf8").catch(() => "")).toBe(opened.path);
  expect(opened.stderr).toBe("");
  const missing = await show(emptyFolder, 1);
  expect(missing.stderr).toMatch(/ENOENT.*Open the file yourself: /);
  await writeFile(join(emptyFolder, "xdg-open"), "#!/bin/sh\nexit 3\n", { mode: 0o755 });
  const withoutBrowser = await show(emptyFolder, 1);
  expect(withoutBrowser.stderr).toContain(`(xdg-open ended with 3). Open the file yourself: ${withoutBrowser.path}`);
});

const pages = pagesForFile();

test.skipIf(CHROMIUM === undefined)(
  "a browser renders a page without a host and without requests (needs Chromium)",
  async () => {
    const service = await serviceForTest();
    const job = await runJobToEnd(service, FILE.failsForGood);
    const env = { ...emulatorEnv(service.emulator), MIC_WORKSPACE_ID: service.emulator.workspaceId };
    const page = await pages().browser.newPage();
    onTestFinished(() => page.close());
    const requestedPaths: string[] = [];
    page.on("request", (request) => requestedPaths.push(request.url()));
    const cases = [
      { words: ["job", job.id], shown: /INPUT_ROWS_INVALID[\s\S]*Version \d+/ },
      { words: ["divisions"], shown: /36 of 36[\s\S]*Andhra Pradesh/ },
      { words: ["usage"], shown: /Jobs submitted/ },
      { words: ["actions"], shown: /none yet/ },
    ];
    for (const { words, shown: expectedText } of cases) {
      const url = pathToFileURL((await renderPage(words, env)).path).href;
      await page.goto(url);
      await expect.poll(() => page.locator("main").innerText()).toMatch(expectedText);
      expect(await page.getByRole("button", { name: /retry|cancel|update/i }).count()).toBe(0);
      expect(requestedPaths.splice(0)).toEqual([url]);
    }
  },
);
