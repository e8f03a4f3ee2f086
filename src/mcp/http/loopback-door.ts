// The door of `serve --http`: requests of this machine, of this user or with the token, all to one house.
import { createAdmission } from "./admission.ts";
import type { Door } from "./door.ts";
import { createGate } from "./gate.ts";
import { createHouse } from "./house.ts";
import { type HttpService, plain } from "./port.ts";
import { HEALTH_PATH, health, READY_PATH, ready } from "./probes.ts";
import { refusal, tooMany } from "./refusal.ts";
import { MCP_PATH, pathOf, routeMcp } from "./routes.ts";
import { createSessions, type SessionLimits } from "./sessions.ts";

export interface LoopbackOptions extends SessionLimits {
  /** The bearer token that requests must carry; without one, on Linux, they must be of this process's user. */
  readonly token?: string | undefined;
}

/** `address` and `port`: what is listened on. */
export function createLoopbackDoor(
  service: HttpService,
  { address, port, options }: { address: string; port: number; options: LoopbackOptions },
): Door {
  const { log, redact, readiness, telemetry } = service;
  const house = createHouse(service, createSessions(service, options));
  const gate = createGate(address, port);
  const admission = createAdmission(options.token, log);
  return {
    log,
    redact,
    telemetry,
    async answer(request, { signal, phase, isFull }) {
      const reason = gate(request);
      if (reason !== undefined) return plain(refusal(403, reason));
      const refused = admission(request);
      if (refused) return plain(refused);
      if (isFull()) return plain(tooMany());
      const { method } = request;
      const path = pathOf(request);
      if (path === HEALTH_PATH) return plain(health(method, phase() === "ending"));
      if (path === READY_PATH) return plain(await ready(method, phase(), readiness));
      if (path === MCP_PATH) return await routeMcp(request, signal, { house, isEnding: () => phase() === "ending" });
      return plain(refusal(404, `Nothing is here but ${MCP_PATH}, ${HEALTH_PATH} and ${READY_PATH}.`));
    },
    // A client that may not come in must not hold a connection: their number is limited.
    isLast: (status) => status === 401 || status === 403,
    endStreams: house.endStreams,
    close: house.close,
  };
}
