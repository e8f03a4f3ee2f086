// Answers monitors: /healthz, whether the process is well, and /readyz, whether calls can be served.
import { reasonOf } from "../../failure.ts";
import type { Phase } from "./door.ts";
import type { HttpService } from "./port.ts";
import { methodNotAllowed } from "./refusal.ts";

export const HEALTH_PATH = "/healthz";
export const READY_PATH = "/readyz";

const isAsked = (method: string | undefined): boolean => method === "GET" || method === "HEAD";

const notAsked = (): Response => methodNotAllowed("GET, HEAD");

export function health(method: string | undefined, isEnding: boolean): Response {
  if (!isAsked(method)) return notAsked();
  return Response.json({ status: isEnding ? "ending" : "ok" }, { status: isEnding ? 503 : 200 });
}

/** Whether calls can be served, all that they depend on included: 200, or 503 with the reason. */
export async function ready(
  method: string | undefined,
  phase: Phase,
  readiness: HttpService["readiness"],
): Promise<Response> {
  if (!isAsked(method)) return notAsked();
  if (phase !== "serving") return health(method, true);
  try {
    return Response.json({ status: "ok", ...(await readiness?.()) });
  } catch (error) {
    return Response.json({ status: "not ready", reason: reasonOf(error) }, { status: 503 });
  }
}
