// Partial files of downloads: gone however the server ends; what a killed one had to leave goes with the next download, and
// nothing else does.
import { mkdir, readdir, readFile, rename, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { credentials } from "../../service/client.ts";
import { folderForTest } from "../../support/home.ts";
import { answer, type Stub, slowly, stubForTest } from "../../support/stub.ts";
import { runs } from "../../support/thorough.ts";
import { callMessage, initialize, type Program, start } from "./child.ts";

const long = { timeout: 60_000 };
const bytes = Buffer.alloc(200_000, "x");

async function place() {
  const stub = await stubForTest();
  const folder = await folderForTest();
  // Until somebody breaks it off.
  stub.respond(({ target }) => (target.includes("quick") ? answer(200, bytes) : slowly(200, bytes, 10_000, 20)));
  return { stub, folder, files: async () => (await readdir(folder)).sort() };
}

async function server({ baseUrl }: Stub, folder: string): Promise<Program> {
  const { clientId, clientSecret } = credentials;
  const program = start(["serve"], {
    env: {
      MIC_BASE_URL: baseUrl,
      MIC_CLIENT_ID: clientId,
      MIC_CLIENT_SECRET: clientSecret,
      MIC_DOWNLOAD_DIR: folder,
    },
  });
  await initialize(program);
  return program;
}

const download = (id: number, name: string) =>
  callMessage(id, "download_asset", { assetId: name, fileName: `${name}.bin` });

async function quick(program: Program, id: number, name: string): Promise<void> {
  program.send(download(id, `quick-${name}`));
  const answers = await program.answersTo([id]);
  expect(answers.get(id)).toMatchObject({ result: { structuredContent: { fileName: `quick-${name}.bin` } } });
}

const ways: readonly (readonly [string, (program: Program) => void])[] = [
  ["SIGTERM", ({ process }) => void process.kill("SIGTERM")],
  ["SIGINT", ({ process }) => void process.kill("SIGINT")],
  ["SIGHUP", ({ process }) => void process.kill("SIGHUP")],
  ["the end of stdin", ({ process }) => void process.stdin.end()],
  [
    "a client that no longer reads",
    (program) => {
      program.process.stdout.destroy();
      program.send({ jsonrpc: "2.0", id: 9, method: "ping" });
    },
  ],
];

test.each(ways)("%s in the middle of downloads leaves nothing of them", long, async (_, leave) => {
  const { stub, folder, files } = await place();
  for (let round = 0; round < runs(1, 3); round++) {
    const program = await server(stub, folder);
    program.send(download(2, "one"));
    program.send(download(3, "two"));
    await expect.poll(files).toHaveLength(2);
    leave(program);
    expect(await program.exit).toEqual({ code: 0, signal: null });
    expect(await files()).toEqual([]);
  }
});

test("a call that is cancelled just before the end leaves nothing either", long, async () => {
  const { stub, folder, files } = await place();
  for (let round = 0; round < runs(1, 3); round++) {
    const program = await server(stub, folder);
    program.send(download(2, "one"));
    await expect.poll(files).toHaveLength(1);
    program.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } });
    program.process.stdin.end();
    await program.exit;
    expect(await files()).toEqual([]);
  }
});

test(
  "what a killed server left is removed by the next download; a living one's is not, nor is anybody else's",
  long,
  async () => {
    const { stub, folder, files } = await place();
    const living = await server(stub, folder);
    living.send(download(2, "living"));
    await expect.poll(files).toHaveLength(1);
    const [livingFile = ""] = await files();

    const killed = await server(stub, folder);
    killed.send(download(2, "killed"));
    killed.send(download(3, "moved"));
    await expect.poll(files).toHaveLength(3);
    killed.process.kill("SIGKILL");
    await killed.exit;
    const left = (await files()).filter((name) => name !== livingFile);
    expect(left).toHaveLength(2);
    const killedFile = left.find((name) => name.startsWith("killed")) ?? "";

    // Whoever wants to keep one renames it.
    await rename(join(folder, left.find((name) => name.startsWith("moved")) ?? ""), join(folder, "rescued.part"));
    const foreign = ["report.part", "report.csv.0a1b2c3d.part", ".part", `${killedFile}.txt`, killedFile.slice(0, -5)];
    for (const name of foreign) await writeFile(join(folder, name), "mine");
    // By its name it is a dead server's; it is a folder, or a link.
    await mkdir(join(folder, `folder${killedFile}`));
    await symlink(join(folder, "report.part"), join(folder, `link${killedFile}`));

    await quick(await server(stub, folder), 2, "next");
    const kept = [...foreign, "rescued.part", `folder${killedFile}`, `link${killedFile}`, livingFile];
    expect(await files()).toEqual([...kept, "quick-next.bin"].sort());
    for (const name of foreign) expect(await readFile(join(folder, name), "utf8")).toBe("mine");

    // Stopped, it lives.
    living.process.kill("SIGSTOP");
    await quick(await server(stub, folder), 2, "again");
    expect(await files()).toContain(livingFile);
    living.process.kill("SIGCONT");
    living.process.stdin.end();
    await living.exit;
    expect(await files()).not.toContain(livingFile);
  },
);

test("of a machine that nothing is known of, a file goes once nobody has written to it for a day", long, async () => {
  const { stub, folder, files } = await place();
  const fresh = "fresh.bin.mic-mcp-0123abcd-77-89abcdef-01234567.part";
  const old = "old.bin.mic-mcp-0123abcd-77-89abcdef-01234567.part";
  for (const name of [fresh, old]) await writeFile(join(folder, name), "half");
  const twoDaysAgo = new Date(Date.now() - 2 * 86_400_000);
  await utimes(join(folder, old), twoDaysAgo, twoDaysAgo);
  const program = await server(stub, folder);
  await quick(program, 2, "one");
  expect(await files()).toEqual([fresh, "quick-one.bin"]);
  // No finished file takes such a name.
  program.send(callMessage(3, "download_asset", { assetId: "quick", fileName: fresh.replace("fresh", "mine") }));
  const answers = await program.answersTo([3]);
  expect(answers.get(3)).toMatchObject({ result: { isError: true } });
});
