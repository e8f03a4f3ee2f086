// Checks how long the certificate of the public URL is valid, for `mic-mcp doctor --teams`.
import { isIP } from "node:net";
import { connect } from "node:tls";
import { type Check, failedCheck, passedCheck } from "../../cli/checks.ts";

const NAME = "certificate";
const MIN_DAYS = 14;
const DAY_MS = 86_400_000;
const CONNECT_MS = 5_000;

/** Returns the end of validity of the certificate at this address; undefined if no TLS server is reachable there. */
const readEnd = ({ hostname, port }: URL): Promise<number | undefined> =>
  new Promise((resolve) => {
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    // Clients verify the certificate. This check reads its end only, even if this machine does not know the CA.
    const socket = connect({
      host,
      port: Number(port === "" ? 443 : port),
      ...(isIP(host) === 0 && { servername: host }),
      rejectUnauthorized: false,
      timeout: CONNECT_MS,
    });
    const end = (endsAt?: number): void => {
      socket.destroy();
      resolve(endsAt);
    };
    socket.once("secureConnect", () => end(Date.parse(socket.getPeerCertificate().valid_to)));
    socket.once("timeout", () => end());
    socket.once("error", () => end());
  });

/** An unreachable balancer is not a failure: during the setup there is none, and instances may not be able to reach it. */
export async function checkCertificate(publicOrigin: string): Promise<readonly Check[]> {
  if (!publicOrigin.startsWith("https:")) return [];
  const endsAt = await readEnd(new URL(publicOrigin));
  if (endsAt === undefined)
    return [passedCheck(NAME, `${publicOrigin} cannot be reached from here, so its certificate was not checked`)];
  const detail = `the certificate of ${publicOrigin} is valid until ${new Date(endsAt).toISOString()}`;
  const isShort = endsAt - Date.now() < MIN_DAYS * DAY_MS;
  return [isShort ? failedCheck(NAME, detail, "Replace it on the load balancer.") : passedCheck(NAME, detail)];
}
