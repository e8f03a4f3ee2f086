// `mic-mcp demo`: the main job from end to end, with a real MCP client against the real server and an emulated service.
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startAgent } from "./agent.ts";
import {
  analystAsks,
  assistantCancels,
  assistantMistypes,
  assistantRunsJob,
  prepareSubmission,
  retrierRetries,
} from "./chapters.ts";
import { answerIsLost } from "./lost-answer.ts";
import { startService } from "./service-process.ts";
import { bad, bold, good, say } from "./story.ts";

const sha256Of = async (path: string): Promise<string> =>
  createHash("sha256")
    .update(await readFile(path))
    .digest("hex");

/** Exit code 0 when every step went as told. */
export async function demo(): Promise<number> {
  const own = [process.execPath, ...process.execArgv, process.argv[1] ?? ""];
  const downloadDir = await mkdtemp(join(tmpdir(), "mic-mcp-demo-"));
  const startedAt = Date.now();
  // Nobody else asks it: the whole country may be read at once.
  const service = await startService([...own, "emulator", "--requests-per-minute", "6000"]);
  const { facts } = service;
  const environment = {
    MIC_BASE_URL: facts.baseUrl,
    MIC_CLIENT_ID: facts.clientId,
    MIC_CLIENT_SECRET: facts.clientSecret,
    MIC_WORKSPACE_ID: facts.workspaceId,
    MIC_DOWNLOAD_DIR: downloadDir,
    // Nothing of a demo belongs into anybody's keychain or journal.
    MIC_STATE_DIR: join(downloadDir, "state"),
    MIC_KEYCHAIN: "off",
    MIC_GEOGRAPHY_RATE: "600",
  };
  const startServer = () => startAgent([...own, "serve"], environment);
  const agent = await startServer();
  try {
    process.stdout.write(`${bold("mic-mcp demo")}: an MCP client, the server on stdio, an emulated service.\n`);
    say(`service    ${facts.baseUrl} (workspace ${facts.workspaceId})`);
    say(`server     ${await agent.countTools()} tools`);
    await analystAsks(agent);
    await assistantRunsJob(agent, facts.fileIds, sha256Of);
    await retrierRetries(agent, facts.fileIds);
    await assistantMistypes(agent);
    await assistantCancels(agent, facts.fileIds);
    await answerIsLost({
      baseUrl: facts.baseUrl,
      prepare: () => prepareSubmission(agent, facts.fileIds),
      agent,
      startNext: startServer,
    });
    process.stdout.write(
      `\n${good("Everything went as told")}, in ${((Date.now() - startedAt) / 1000).toFixed(1)} s.\n`,
    );
    return 0;
  } catch (error) {
    process.stdout.write(`\n${bad("The demo stopped")}: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  } finally {
    await agent.close();
    await service.close();
    await rm(downloadDir, { recursive: true, force: true });
  }
}
