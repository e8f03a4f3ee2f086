// Trial 11: files by their links, many at once and large, through the balancer from an instance of the built server; then it is killed in
// the middle. What arrives is held against what the service sends.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type Deployment, startDeployment } from "../../support/deployment.ts";
import { listeningUrl } from "../../support/free-port.ts";
import { connectHttp } from "../../support/mcp.ts";

export interface DownloadCounts {
  readonly teams: number;
  readonly atOnce: number;
  readonly bytes: number;
}

export const SMALL: DownloadCounts = { teams: 3, atOnce: 12, bytes: 20_000_000 };
export const WHOLE: DownloadCounts = { teams: 5, atOnce: 50, bytes: 1_000_000_000 };

const CHUNK = Buffer.alloc(65_536, "0123456789abcdef");
const MOST_MEGABYTES = 300;
const TOKEN_PATH = "/sandbox/oauth/token";

/** A service that sends every asset at the speed at which it is read; half of them without saying how long they are. */
async function startService(bytes: number) {
  let assets = 0;
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === TOKEN_PATH) {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ access_token: "trial" }));
      return;
    }
    assets += 1;
    response.writeHead(200, assets % 2 === 0 ? { "content-length": String(bytes) } : {});
    let left = bytes;
    const send = (): void => {
      while (left > 0 && !response.destroyed) {
        const part = CHUNK.subarray(0, left);
        left -= part.length;
        if (!response.write(part)) {
          response.once("drain", send);
          return;
        }
      }
      response.end();
    };
    send();
  });
  return {
    baseUrl: await listeningUrl(server),
    async close(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function hashOf(bytes: number): string {
  const hash = createHash("sha256");
  for (let at = 0; at < bytes; at += CHUNK.length) hash.update(CHUNK.subarray(0, bytes - at));
  return hash.digest("hex");
}

/** The most that a process has held in memory so far; 0 where the system does not say. */
async function peakMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return (Number(kilobytes ?? 0) * 1024) / 1_000_000;
}

/** What arrived, as its hash; "broken" where the client was told that it is not all. */
async function taken(url: string, onBytes: (count: number) => void): Promise<string> {
  try {
    const response = await fetch(url);
    if (response.status !== 200 || response.body === null) return `HTTP ${response.status}`;
    const hash = createHash("sha256");
    for await (const piece of response.body) {
      hash.update(piece);
      onBytes(piece.length);
    }
    return hash.digest("hex");
  } catch {
    return "broken";
  }
}

/** Links that a tool gave to this many callers, in turn in each team. */
async function linksFor({ callers }: Deployment, count: number) {
  return await Promise.all(
    (await callers(count)).map(async ({ url, token, revision }, at) => {
      const client = await connectHttp(revision, url, { token });
      const result = await client.callTool("download_asset", { assetId: `asset-${at}` });
      await client.close();
      const [link] = /http:[^"\\\s]*\/downloads\/[\w.-]+/.exec(JSON.stringify(result)) ?? [];
      if (link === undefined) throw new Error(`no link: ${JSON.stringify(result)}`);
      return link;
    }),
  );
}

/** What was counted, and what is wrong, a sentence each. */
export async function downloadsTrial({ teams, atOnce, bytes }: DownloadCounts) {
  const service = await startService(bytes);
  const deployment = await startDeployment({ instances: 1, teams, service: service.baseUrl });
  try {
    const links = await linksFor(deployment, atOnce);
    const [instance] = deployment.fleet.instances;
    if (!instance) throw new Error("there is an instance");
    const idle = await peakMegabytes(instance.pid());
    const right = hashOf(bytes);
    const all = (onBytes: (count: number) => void) => Promise.all(links.map((link) => taken(link, onBytes)));
    const before = await all(() => undefined);
    const peak = await peakMegabytes(instance.pid());
    // Killed once a good part of the bytes has arrived, and most of them have not.
    let arrived = 0;
    let killed: Promise<void> | undefined;
    const during = await all((count) => {
      arrived += count;
      if (arrived >= (bytes * atOnce) / 4) killed ??= instance.kill();
    });
    await killed;
    const counts = {
      whole: before.filter((hash) => hash === right).length,
      // 0 where the system does not say.
      idleMegabytes: Math.round(idle),
      peakMegabytes: Math.round(peak),
      broken: during.filter((hash) => hash === "broken").length,
      takenForWhole: during.filter((hash) => hash !== "broken" && hash !== right).length,
    };
    const wrong = [
      counts.whole !== atOnce && `${counts.whole} of ${atOnce} files arrived whole`,
      counts.peakMegabytes >= MOST_MEGABYTES && `${counts.peakMegabytes} MB of memory`,
      counts.broken === 0 && "the instance was not killed in the middle",
      counts.takenForWhole > 0 && `${counts.takenForWhole} parts were taken for whole`,
    ];
    return { counts, wrong: wrong.filter((each) => each !== false) };
  } finally {
    await deployment.stop();
    await service.close();
  }
}
