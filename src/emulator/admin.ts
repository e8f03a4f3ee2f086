// /__emulator: clock, faults, records and geography, for the test or person that drives the emulator. It is no part of the service.
// POST geography {states?, districts?: {TG: answer | {status} | null}, unknownState?}: the playground answers with these
// instead of its own table; DELETE geography: with its own again.
import * as z from "zod/v4";
import type { IssuedTokens } from "./authorization.ts";
import { type AdjustableClock, DAY, instant } from "./clock.ts";
import { FaultOrder, type Faults } from "./faults.ts";
import { type Answer, jsonAnswer } from "./http/answer.ts";
import { isThisMachine } from "./http/host-check.ts";
import { type HttpRequest, isMediaType, JsonError, readJson } from "./http/request.ts";
import { GeographyVariant, type Playground } from "./playground.ts";
import type { Records } from "./records.ts";

const Advance = z.strictObject({
  advanceMs: z
    .int()
    .min(0)
    .max(366 * DAY),
});

/** Admin errors are for people: one field that says what to do. */
const fail = (status: number, error: string, headers = {}): Answer => jsonAnswer(status, { error }, headers);

/** The answer of `act` to the body that fits this schema, or the answer that says what is wrong with the body. */
const withBody =
  <S extends z.ZodType>(schema: S, act: (body: z.output<S>) => Answer) =>
  (request: HttpRequest): Answer => {
    // Asked for strictly: no web page can send this type here without a preflight request, which is refused.
    if (!isMediaType(request.header("content-type")[0] ?? "", "application/json"))
      return fail(415, "Content-Type must be application/json.");
    if (request.body === "too large") return fail(413, "The body is larger than 1 MiB.");
    try {
      const parsed = z.safeParse(schema, readJson(request.body));
      return parsed.success ? act(parsed.data) : fail(400, z.prettifyError(parsed.error));
    } catch (error) {
      if (error instanceof JsonError) return fail(400, `The body is not JSON: ${error.message}.`);
      throw error;
    }
  };

export interface Admin {
  answer(request: HttpRequest): Answer;
  /** To a request that may not come in. */
  deny(reason: string): Answer;
}

export interface AdminParts {
  readonly clock: AdjustableClock;
  readonly faults: Faults;
  readonly records: Records;
  readonly tokens: IssuedTokens;
  readonly playground: Pick<Playground, "vary">;
}

export function makeAdmin({ clock, faults, records, tokens, playground }: AdminParts): Admin {
  const now = (): Answer => jsonAnswer(200, { now: instant(clock.now()) });
  const advanceClock = withBody(Advance, ({ advanceMs }) => {
    clock.advance(advanceMs);
    return now();
  });
  const queueFault = withBody(FaultOrder, (order) => {
    // Without an operation, this one has nothing to wait for.
    if (order.fault.kind === "expire-token" && order.operationId === undefined) tokens.expireAll();
    else if (!faults.add(order)) return fail(409, "Too many faults are queued: DELETE /__emulator/faults first.");
    return jsonAnswer(201, { queued: faults.queued });
  });
  const clearFaults = (): Answer => {
    faults.clear();
    return jsonAnswer(200, { queued: faults.queued });
  };
  const varyGeography = (variant?: GeographyVariant): Answer => {
    playground.vary(variant);
    return jsonAnswer(200, {});
  };

  const routes = new Map<string, Readonly<Record<string, (request: HttpRequest) => Answer>>>([
    ["/__emulator/clock", { GET: now, POST: advanceClock }],
    ["/__emulator/faults", { POST: queueFault, DELETE: clearFaults }],
    ["/__emulator/geography", { POST: withBody(GeographyVariant, varyGeography), DELETE: () => varyGeography() }],
    ["/__emulator/requests", { GET: () => jsonAnswer(200, records.requests) }],
    ["/__emulator/executions", { GET: () => jsonAnswer(200, records.executions) }],
  ]);

  return {
    deny: (reason) => fail(403, reason),
    answer(request) {
      if (!isThisMachine(request.peer)) return fail(403, "/__emulator answers to this machine only.");
      const route = routes.get(request.target.rawPath);
      if (route === undefined) return fail(404, `Known paths: ${[...routes.keys()].join(", ")}.`);
      const act = Object.hasOwn(route, request.method) ? route[request.method] : undefined;
      if (act === undefined)
        return fail(405, "See Allow for the methods of this path.", { Allow: Object.keys(route).join(", ") });
      if (request.target.query === undefined || request.target.query.length > 0)
        return fail(400, "No query parameter is taken here.");
      return act(request);
    },
  };
}
