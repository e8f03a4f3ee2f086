// Row 11: downloads many large files concurrently by their links, through the balancer, from an instance of the built server.
// Then the instance is killed during the downloads. The received bytes are compared with the sent ones.
import { createHash } from "node:crypto";
import { onTestFinished } from "vitest";
import { capabilitySet, enveloped } from "../../contract/samples.ts";
import { type Deployment, startDeployment } from "../../support/deployment.ts";
import { connectHttp } from "../../support/mcp.ts";
import { peakMegabytes } from "../../support/process.ts";
import { answer, flood, stubForTest } from "../../support/stub.ts";

export const SMALL_COUNTS = { teams: 3, concurrency: 12, bytes: 20_000_000 };
export const FULL_COUNTS = { teams: 5, concurrency: 50, bytes: 1_000_000_000 };

const CHUNK = Buffer.alloc(65_536, "0123456789abcdef");
const MAX_MEGABYTES = 300;
/** A team's workspace is verified when the team is added. */
const CAPABILITIES_PATH = "/v1/mic/capabilities";

/** Starts an API that sends each asset as fast as the client reads it, every second one without a Content-Length. */
async function startAssetService(bytes: number): Promise<string> {
  const stub = await stubForTest();
  let assets = 0;
  stub.respond(({ target }) => {
    if (target.includes(CAPABILITIES_PATH)) return answer(200, enveloped(capabilitySet));
    assets += 1;
    return flood(200, CHUNK, bytes, assets % 2 === 0 ? { "content-length": String(bytes) } : {});
  });
  return stub.baseUrl;
}

function expectedHash(bytes: number): string {
  const hash = createHash("sha256");
  for (let at = 0; at < bytes; at += CHUNK.length) hash.update(CHUNK.subarray(0, bytes - at));
  return hash.digest("hex");
}

/** The SHA-256 of a download; "broken" if the connection was reset before the end, `HTTP <status>` for any status except 200. */
async function downloadHash(url: string, onBytes: (count: number) => void): Promise<string> {
  try {
    const response = await fetch(url);
    if (response.status !== 200 || response.body === null) return `HTTP ${response.status}`;
    const hash = createHash("sha256");
    for await (const chunk of response.body) {
      hash.update(chunk);
      onBytes(chunk.length);
    }
    return hash.digest("hex");
  } catch {
    return "broken";
  }
}

async function createLinks({ createCallers }: Deployment, count: number) {
  return await Promise.all(
    (await createCallers(count)).map(async ({ url, token, revision }, at) => {
      const client = await connectHttp(revision, url, { token });
      const result = await client.callTool("download_asset", { assetId: `asset-${at}` });
      await client.close();
      const [link] = /http:[^"\\\s]*\/downloads\/[\w.-]+/.exec(JSON.stringify(result)) ?? [];
      if (link === undefined) throw new Error(`no link: ${JSON.stringify(result)}`);
      return link;
    }),
  );
}

/** Returns the counts, and one sentence for each failure. */
export async function testDownloads({ teams, concurrency, bytes }: typeof SMALL_COUNTS) {
  const deployment = await startDeployment({ instances: 1, teams, service: await startAssetService(bytes) });
  onTestFinished(() => deployment.stop());
  const links = await createLinks(deployment, concurrency);
  const [instance] = deployment.fleet.instances;
  if (!instance) throw new Error("there is an instance");
  const idlePeak = await peakMegabytes(instance.pid());
  const expected = expectedHash(bytes);
  const downloadAll = (onBytes: (count: number) => void) =>
    Promise.all(links.map((link) => downloadHash(link, onBytes)));
  const before = await downloadAll(() => undefined);
  const peak = await peakMegabytes(instance.pid());
  // Kills the instance once a quarter of all bytes has arrived.
  let arrived = 0;
  let killed: Promise<void> | undefined;
  const during = await downloadAll((count) => {
    arrived += count;
    if (arrived >= (bytes * concurrency) / 4) killed ??= instance.kill();
  });
  await killed;
  const counts = {
    complete: before.filter((hash) => hash === expected).length,
    // 0 if the system does not report it.
    idleMegabytes: Math.round(idlePeak),
    peakMegabytes: Math.round(peak),
    broken: during.filter((hash) => hash === "broken").length,
    incompleteAsComplete: during.filter((hash) => hash !== "broken" && hash !== expected).length,
  };
  const failures = [
    counts.complete !== concurrency && `${counts.complete} of ${concurrency} files arrived whole`,
    counts.peakMegabytes >= MAX_MEGABYTES && `${counts.peakMegabytes} MB of memory`,
    counts.broken === 0 && "the instance was not killed in the middle",
    counts.incompleteAsComplete > 0 && `${counts.incompleteAsComplete} parts were taken for whole`,
  ];
  return { counts, failures: failures.filter((each) => each !== false) };
}
