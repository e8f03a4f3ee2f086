// Serves /__emulator: clock, faults, records and geography, for the test or user that controls the emulator. It is not part of the API.
// POST geography {states?, districts?: {TG: answer | {status} | null}, unknownState?} replaces the playground's answers from its own table;
// DELETE geography restores them.
import * as z from "zod/v4";
import type { AppOptions } from "./app.ts";
import { type AdjustableClock, DAY, toInstant } from "./clock.ts";
import { FaultRequest } from "./faults.ts";
import { isThisMachine } from "./http/host-check.ts";
import { type HttpRequest, isMediaType, JsonError, parseJson } from "./http/request.ts";
import { type HttpResponse, jsonResponse } from "./http/response.ts";
import { GeographyVariant } from "./playground.ts";

const AdvanceRequest = z.strictObject({
  advanceMs: z
    .int()
    .min(0)
    .max(366 * DAY),
});

/** Admin errors are for developers: one field states the problem and its fix. */
const errorResponse = (status: number, error: string, headers = {}): HttpResponse =>
  jsonResponse(status, { error }, headers);

/** Returns the answer of `handler` to a body that matches the schema, else 400, 413 or 415 with the reason. */
const withBody =
  <S extends z.ZodType>(schema: S, handler: (body: z.output<S>) => HttpResponse) =>
  (request: HttpRequest): HttpResponse => {
    // Required strictly: a web page cannot send this type here without a preflight request, which is refused.
    if (!isMediaType(request.header("content-type")[0] ?? "", "application/json"))
      return errorResponse(415, "Content-Type must be application/json.");
    if (request.body === "too large") return errorResponse(413, "The body is larger than 1 MiB.");
    try {
      const parsed = z.safeParse(schema, parseJson(request.body));
      return parsed.success ? handler(parsed.data) : errorResponse(400, z.prettifyError(parsed.error));
    } catch (error) {
      if (error instanceof JsonError) return errorResponse(400, `The body is not JSON: ${error.message}.`);
      throw error;
    }
  };

export type Admin = ReturnType<typeof createAdmin>;

export function createAdmin(clock: AdjustableClock, { faults, records, tokens, playground }: AppOptions) {
  const readClock = (): HttpResponse => jsonResponse(200, { now: toInstant(clock.now()) });
  const advanceClock = withBody(AdvanceRequest, ({ advanceMs }) => {
    clock.advance(advanceMs);
    return readClock();
  });
  const queueFault = withBody(FaultRequest, (faultRequest) => {
    // Without an operation, this fault applies at once.
    if (faultRequest.fault.kind === "expire-token" && faultRequest.operationId === undefined) tokens.expireAll();
    else if (!faults.add(faultRequest))
      return errorResponse(409, "Too many faults are queued: DELETE /__emulator/faults first.");
    return jsonResponse(201, { queued: faults.count });
  });
  const clearFaults = (): HttpResponse => {
    faults.clear();
    return jsonResponse(200, { queued: faults.count });
  };
  const setGeographyVariant = (variant?: GeographyVariant): HttpResponse => {
    playground.setVariant(variant);
    return jsonResponse(200, {});
  };

  const routes = new Map<string, Readonly<Record<string, (request: HttpRequest) => HttpResponse>>>([
    ["/__emulator/clock", { GET: readClock, POST: advanceClock }],
    ["/__emulator/faults", { POST: queueFault, DELETE: clearFaults }],
    [
      "/__emulator/geography",
      { POST: withBody(GeographyVariant, setGeographyVariant), DELETE: () => setGeographyVariant() },
    ],
    ["/__emulator/requests", { GET: () => jsonResponse(200, records.requests) }],
    ["/__emulator/executions", { GET: () => jsonResponse(200, records.listExecutions()) }],
  ]);

  return {
    reject: (reason: string): HttpResponse => errorResponse(403, reason),
    handle(request: HttpRequest): HttpResponse {
      if (!isThisMachine(request.peer)) return errorResponse(403, "/__emulator answers to this machine only.");
      const route = routes.get(request.target.rawPath);
      if (route === undefined) return errorResponse(404, `Known paths: ${[...routes.keys()].join(", ")}.`);
      const handle = Object.hasOwn(route, request.method) ? route[request.method] : undefined;
      if (handle === undefined)
        return errorResponse(405, "See Allow for the methods of this path.", { Allow: Object.keys(route).join(", ") });
      if (request.target.query === undefined || request.target.query.length > 0)
        return errorResponse(400, "No query parameter is taken here.");
      return handle(request);
    },
  };
}
