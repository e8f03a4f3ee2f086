// Tests /readyz, which reports whether calls can be served (docs/operate/operations.md, "Serving over HTTP").
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { serviceForTest } from "../../emulator/service.ts";
import { serveHttpInProcess } from "../../support/in-process.ts";
import { connectHttp, emulatorEnv } from "../../support/mcp.ts";
import { folderForTest } from "../../support/temporary-folder.ts";

async function getProbe(url: string, path: string) {
  const answer = await fetch(new URL(path, url));
  return { status: answer.status, body: await answer.json() };
}

test("/readyz opens the journal and counts the unresolved actions", async () => {
  const service = await serviceForTest();
  const url = await serveHttpInProcess(emulatorEnv(service.emulator));
  const journal = { engine: "SQLite", inProgress: 0, unknown: 0 };
  expect(await getProbe(url, "/readyz")).toEqual({ status: 200, body: { status: "ok", journal } });
  await service.injectFault({ kind: "status", status: 500 }, { operationId: "createMicPublicInput", times: 20 });
  const connection = await connectHttp("v2-legacy", url);
  const { workspaceId, fileIds } = service.emulator;
  await connection.callTool("register_input", { workspaceId, inputKind: "M4_FILE", referenceId: fileIds[0] });
  await connection.close();
  expect(await getProbe(url, "/readyz")).toMatchObject({ body: { journal: { inProgress: 0, unknown: 1 } } });
});

test("/readyz returns 503 with the reason if the journal is unusable, while /healthz returns 200", async () => {
  const stateDir = await folderForTest();
  await writeFile(join(stateDir, "actions.sqlite"), "no database, and longer than a header of one is");
  const url = await serveHttpInProcess({ MIC_STATE_DIR: stateDir });
  const reason = expect.stringContaining("file is not a database");
  expect(await getProbe(url, "/readyz")).toEqual({ status: 503, body: { status: "not ready", reason } });
  expect(await getProbe(url, "/healthz")).toEqual({ status: 200, body: { status: "ok" } });
});
