// Creates certificates of a private authority with openssl, and serves over HTTPS with them.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import { join } from "node:path";
import { serveForTest } from "./http-server.ts";
import { missingProgram } from "./process.ts";
import { folderForTest } from "./temporary-folder.ts";

export const opensslMissing = missingProgram("openssl");

/** Creates a certificate for 127.0.0.1, which is also its CA, until the running test ends. Returns the paths. */
export async function certificateForTest(days = 1) {
  const folder = await folderForTest();
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
  const request = ["req", "-x509", "-nodes", "-newkey", "rsa:2048", "-days", String(days), ...names];
  execFileSync("openssl", [...request, "-keyout", key, "-out", cert], { stdio: "ignore" });
  return { folder, cert, key };
}

/** Serves with such a certificate until the running test ends. */
export async function serveHttpsForTest(respond: RequestListener, days?: number) {
  const { cert, key } = await certificateForTest(days);
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, respond);
  return { cert, url: (await serveForTest(server)).replace("http:", "https:") };
}
