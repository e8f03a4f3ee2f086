// Tests the balancers' files of deploy/: their own checkers accept them, and they behave as required in front of stub instances.

import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { haproxyMissing, nginxMissing, startHaproxy, startNginx } from "../support/balancers.ts";
import { certificateForTest, opensslMissing } from "../support/certificate.ts";
import { freePort } from "../support/free-port.ts";
import { serveForTest } from "../support/http-server.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { describeUnless, testUnless } from "../support/unless.ts";

const MAX_CALLS = 256;

/** Answers probes with the status of `readiness()` (default 200), and other requests with `answer`. */
async function instanceForTest(
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => response.end("fine"),
  readiness: () => number | Promise<number> = () => 200,
) {
  const requests: IncomingMessage[] = [];
  const server = createServer(async (request, response) => {
    if (request.url === "/readyz") return void response.writeHead(await readiness()).end();
    requests.push(request);
    request.resume().once("end", () => answer(request, response));
  });
  return { url: await serveForTest(server), requests };
}

const post = (url: string, headers = {}): Promise<string> =>
  fetch(`${url}/mcp`, { method: "POST", body: "{}", headers }).then(
    async (answer) => `${answer.status} ${await answer.text()}`,
    () => "no answer",
  );

/** Creates the certificate that the files refer to, in the folder; the files are only checked. */
async function createCertificate(folder: string): Promise<void> {
  const { cert, key } = await certificateForTest();
  copyFileSync(key, join(folder, "mic-mcp.key"));
  writeFileSync(join(folder, "mic-mcp.pem"), readFileSync(cert, "utf8") + readFileSync(key, "utf8"));
}

testUnless(haproxyMissing ?? opensslMissing, "haproxy accepts its file without warnings", async () => {
  const folder = await folderForTest();
  await createCertificate(folder);
  const path = join(folder, "haproxy.cfg");
  writeFileSync(path, readFileSync("deploy/haproxy/haproxy.cfg", "utf8").replace("/etc/haproxy", folder));
  // With -dW haproxy also fails on warnings.
  execFileSync("haproxy", ["-c", "-dW", "-f", path], { encoding: "utf8", stdio: "pipe" });
});

testUnless(nginxMissing ?? opensslMissing, "nginx accepts its file without warnings", async () => {
  const folder = await folderForTest();
  await createCertificate(folder);
  const site = readFileSync("deploy/nginx/mic-mcp.conf", "utf8")
    .replaceAll("/etc/nginx", folder)
    .replace("/var/log/nginx", folder)
    // nginx opens its ports for the check, and ports below 1024 need root.
    .replaceAll("443", String(await freePort()));
  const path = join(folder, "nginx.conf");
  // The packaged folders belong to root, and exist only after a first start.
  const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${name};`);
  writeFileSync(path, `pid pid;\nerror_log stderr;\nevents {}\nhttp {\n${folders.join("\n")}\n${site}}\n`);
  // Prints only warnings. Without `-e` nginx would open the packaged log before it has read the file.
  const command = `nginx -t -q -e stderr -p ${folder} -c ${path} 2>&1`;
  expect(execFileSync("sh", ["-c", command], { encoding: "utf8" }).replaceAll(/.*"user" directive.*\n/g, "")).toBe("");
});

testUnless(
  haproxyMissing,
  "haproxy limits a token that was refused often, and no other token from the same address",
  async () => {
    const isBad = ({ headers }: IncomingMessage) => headers.authorization === "Bearer bad";
    const one = await instanceForTest((request, response) => response.writeHead(isBad(request) ? 401 : 200).end());
    const balancer = await startHaproxy([one.url]);
    onTestFinished(() => balancer.stop());
    const statusFor = async (authorization?: string) => (await post(balancer.url, { authorization })).slice(0, 3);
    for (let count = 0; count < 20; count++) expect(await statusFor("Bearer bad")).toBe("401");
    for (let count = 0; count < 4; count++) await statusFor("Bearer bad");
    expect(await statusFor("Bearer bad")).toBe("429");
    expect([await statusFor("Bearer good"), await statusFor()]).toEqual(["200", "200"]);
  },
);

for (const [name, missing, start] of [
  ["haproxy", haproxyMissing, startHaproxy],
  ["nginx", nginxMissing, startNginx],
] as const)
  describeUnless(missing, name, () => {
    async function startBalancer(...instances: readonly { readonly url: string }[]) {
      const balancer = await start(instances.map(({ url }) => url));
      onTestFinished(() => balancer.stop());
      return balancer;
    }

    test("a POST is not sent to a second instance if the first one dies during it", async () => {
      const destroySocket = ({ socket }: IncomingMessage): void => void socket.destroy();
      const [one, two] = [await instanceForTest(destroySocket), await instanceForTest(destroySocket)];
      const { url } = await startBalancer(one, two);
      expect(await post(url)).not.toContain("fine");
      expect(one.requests.length + two.requests.length).toBe(1);
    });

    test("an instance is notified if its client disconnects during a call", async () => {
      const closedSockets: Promise<void>[] = [];
      const one = await instanceForTest(({ socket }) => {
        // One balancer ends the connection, the other one resets it.
        closedSockets.push(new Promise((resolve) => void socket.once("close", () => resolve())));
      });
      const { url } = await startBalancer(one);
      const controller = new AbortController();
      const call = fetch(`${url}/mcp`, { method: "POST", body: "{}", signal: controller.signal });
      await expect.poll(() => closedSockets.length).toBe(1);
      controller.abort();
      await expect(call).rejects.toThrow("aborted");
      await Promise.all(closedSockets);
    });

    test("no call fails because of an unreachable instance", async () => {
      const one = await instanceForTest();
      const { url } = await startBalancer({ url: `http://127.0.0.1:${await freePort()}` }, one);
      for (let calls = 1; calls <= 6; calls++) expect(await post(url)).toBe("200 fine");
      expect(one.requests).toHaveLength(6);
    });

    test("an instance gets the client's real address, whatever forwarding headers the client sends", async () => {
      const one = await instanceForTest();
      const { url } = await startBalancer(one);
      const forgedHeaders = { forwarded: "for=192.0.2.1;proto=https" };
      await post(url, { "x-forwarded-for": "192.0.2.1", "x-forwarded-host": "elsewhere.example", ...forgedHeaders });
      const { headers = {} } = one.requests[0] ?? {};
      const { host } = new URL(url);
      expect(headers).toMatchObject({ "x-forwarded-for": "127.0.0.1", "x-forwarded-proto": "http", host });
      for (const name of ["x-forwarded-host", "forwarded"]) expect(headers[name] ?? "").toBe("");
    });

    test("the balancer does not expose the probes, and does not log paths", async () => {
      const one = await instanceForTest();
      const balancer = await startBalancer(one);
      for (const path of ["/readyz", "/healthz"])
        expect((await fetch(`${balancer.url}${path}`)).status, path).toBe(404);
      expect((await fetch(`${balancer.url}/downloads/a-ticket-to-read`)).status).toBe(200);
      await expect.poll(() => balancer.output()).toMatch(/\bGET\b.*\b200\b/);
      expect(balancer.output()).not.toContain("a-ticket-to-read");
    });

    test("all instances get requests while none is ready", async () => {
      const instances = [await instanceForTest(undefined, () => 503), await instanceForTest(undefined, () => 503)];
      const balancer = await startBalancer(...instances);
      // nginx does not probe the instances.
      if (name === "haproxy")
        await expect.poll(() => balancer.output()).toMatch(/instance1 is DOWN.*instance2 is DOWN/s);
      for (let calls = 1; calls <= 6; calls++) expect(await post(balancer.url)).toBe("200 fine");
      for (const { requests } of instances) expect(requests.length).toBeGreaterThan(0);
    });

    test("the balancer does not buffer a stream", async () => {
      let sendSecond: () => void = () => undefined;
      const one = await instanceForTest((_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" }).write(": first\n\n");
        sendSecond = () => void response.end(": second\n\n");
      });
      const { url } = await startBalancer(one);
      const { body } = await fetch(`${url}/mcp`);
      const decoder = new TextDecoder();
      let received = "";
      for await (const part of body ?? []) {
        received += decoder.decode(part, { stream: true });
        if (received === ": first\n\n") sendSecond();
      }
      expect(received).toBe(": first\n\n: second\n\n");
    });
  });

testUnless(haproxyMissing, "haproxy sends no more requests to an instance that is draining", async () => {
  let status = 200;
  const [draining, serving] = [await instanceForTest(undefined, () => status), await instanceForTest()];
  const balancer = await startHaproxy([draining.url, serving.url]);
  onTestFinished(() => balancer.stop());
  await expect
    .poll(async () => (await post(balancer.url)) === "200 fine" && draining.requests.length)
    .toBeGreaterThan(0);
  status = 503;
  await expect.poll(() => balancer.output()).toMatch(/instances\/instance1 is DOWN/);
  const before = draining.requests.length;
  for (let calls = 1; calls <= 6; calls++) expect(await post(balancer.url)).toBe("200 fine");
  expect(draining.requests).toHaveLength(before);
});

testUnless(haproxyMissing, "haproxy keeps using a busy instance that answers the health check late", async () => {
  let probes = 0;
  const busy = await instanceForTest(undefined, async () => {
    // Longer than the interval between two checks.
    await sleep(1_500);
    probes += 1;
    return 200;
  });
  const balancer = await startHaproxy([busy.url]);
  onTestFinished(() => balancer.stop());
  await expect.poll(() => probes, { timeout: 20_000 }).toBe(4);
  expect(await post(balancer.url)).toBe("200 fine");
  expect(balancer.output()).not.toContain("is DOWN");
});

testUnless(
  haproxyMissing,
  "haproxy queues calls beyond the limit of an instance, and serves streams meanwhile",
  async () => {
    const held: ServerResponse[] = [];
    const full = await instanceForTest(({ headers }, response) => {
      if (headers["mcp-method"] === "subscriptions/listen") response.end("fine");
      else held.push(response);
    });
    const balancer = await startHaproxy([full.url]);
    onTestFinished(() => balancer.stop());
    await expect
      .poll(
        async () =>
          (await fetch(`${balancer.url}/mcp`, { method: "POST", headers: { "mcp-method": "subscriptions/listen" } }))
            .status,
      )
      .toBe(200);
    const calls = Array.from({ length: MAX_CALLS + 4 }, () => post(balancer.url));
    await expect.poll(() => held.length).toBe(MAX_CALLS);
    expect(await post(balancer.url, { "mcp-method": "subscriptions/listen" })).toBe("200 fine");
    expect(held).toHaveLength(MAX_CALLS);
    for (const response of held.splice(0)) response.end("fine");
    await expect.poll(() => held.length).toBe(4);
    for (const response of held) response.end("fine");
    expect(new Set(await Promise.all(calls))).toEqual(new Set(["200 fine"]));
  },
);
