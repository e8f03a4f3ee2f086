// A proxy in front of the emulator: every retry of a job fails at the same stage again. The emulator's own retries succeed, so the
// proxy makes and serves the retries itself. It sends all other requests to the emulator.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import * as z from "zod/v4";

const Stage = z.looseObject({ state: z.string(), attemptCount: z.number() });
const Job = z.looseObject({ id: z.string(), createdAt: z.string(), stages: z.array(Stage) });
const JobResponse = z.looseObject({ data: Job });
type FailedJob = z.infer<typeof Job>;
const RetryRequest = z.looseObject({ retryMode: z.string() });

/** Headers that apply to one connection only, or that fetch sets. */
const OWN_HEADERS = ["host", "connection", "content-length", "content-encoding", "transfer-encoding", "keep-alive"];

export interface FailingRetries {
  readonly url: string;
  /** The modes of the retries, in order. */
  readonly modes: readonly string[];
  close(): void;
}

async function readBody(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(z.instanceof(Buffer).parse(chunk));
  return Buffer.concat(chunks);
}

const copyHeaders = (headers: Iterable<readonly [string, unknown]>): Record<string, string> =>
  Object.fromEntries(
    [...headers].filter(([name]) => !OWN_HEADERS.includes(name)).map(([name, value]) => [name, String(value)]),
  );

/** The failed job after one more attempt at the stage that failed. */
function retryFailedJob(job: FailedJob, mode: string, id: string): FailedJob {
  const stages = job.stages.map((stage) =>
    stage.state === "FAILED" ? { ...stage, attemptCount: mode === "RESTART" ? 1 : stage.attemptCount + 1 } : stage,
  );
  return { ...job, id, retryOfBatchId: job.id, stages };
}

export async function startFailingRetries(emulatorUrl: string): Promise<FailingRetries> {
  /** The emulator's jobs, as the server read them. The token of a retry is not valid for reading a job. */
  const readJobs = new Map<string, FailedJob>();
  const retries = new Map<string, FailedJob>();
  const modes: string[] = [];
  const forward = async (incoming: IncomingMessage, path: string, body: Buffer): Promise<Response> =>
    await fetch(`${emulatorUrl}${path}`, {
      method: incoming.method ?? "GET",
      headers: copyHeaders(Object.entries(incoming.headers)),
      ...(body.length > 0 && { body: new Uint8Array(body) }),
    });
  const sendJob = (outgoing: ServerResponse, status: number, data: FailedJob): void => {
    const headers = { "content-type": "application/json", etag: '"1"' };
    outgoing.writeHead(status, headers).end(JSON.stringify({ data, meta: { requestId: `micreq_${"0".repeat(32)}` } }));
  };

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const path = incoming.url ?? "/";
    const body = await readBody(incoming);
    const [, id = "", action] = /\/jobs\/([^/?]+)(\/retries)?$/.exec(path) ?? [];
    const retry = retries.get(id);
    const job = retry ?? readJobs.get(id);
    if (incoming.method === "POST" && action !== undefined && job !== undefined) {
      const { retryMode } = RetryRequest.parse(JSON.parse(body.toString()));
      modes.push(retryMode);
      const next = retryFailedJob(job, retryMode, `micjob_${modes.length.toString(16).padStart(32, "0")}`);
      retries.set(next.id, next);
      sendJob(outgoing, 202, next);
    } else if (retry !== undefined) {
      sendJob(outgoing, 200, retry);
    } else {
      const response = await forward(incoming, path, body);
      outgoing.writeHead(response.status, copyHeaders(response.headers));
      const text = Buffer.from(await response.arrayBuffer());
      if (incoming.method === "GET" && id !== "" && response.ok)
        readJobs.set(id, JobResponse.parse(JSON.parse(text.toString())).data);
      outgoing.end(text);
    }
  }

  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the proxy listens on no port");
  return {
    url: `http://127.0.0.1:${address.port}${new URL(emulatorUrl).pathname.replace(/\/$/, "")}`,
    modes,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
