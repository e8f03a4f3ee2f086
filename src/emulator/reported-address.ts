// The client address an edge reports: the last one in X-Forwarded-For, which the edge itself wrote.
import { isIP } from "node:net";
import type { HttpRequest } from "./http/request.ts";

export function reportedAddress(request: HttpRequest): string | undefined {
  const last = request.header("x-forwarded-for").join(",").split(",").at(-1)?.trim() ?? "";
  return isIP(last) === 0 ? undefined : last.toLowerCase();
}
