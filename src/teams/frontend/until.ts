// A stream that lasts no longer than the token that opened it: who listens comes back with one that is good then.
import type { Served } from "../../mcp/http/port.ts";

/** What a timer can wait for at all. */
const MAX_MS = 2_147_483_647;

/** `goodUntil`: in milliseconds since 1970. */
export function whileGood(served: Served, goodUntil: number): Served {
  const { response, kind } = served;
  if (kind !== "stream" || !(response instanceof Response) || !response.body) return served;
  let end = (): void => undefined;
  const timer = setTimeout(() => end(), Math.min(Math.max(0, goodUntil - Date.now()), MAX_MS)).unref();
  const body = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      start(controller) {
        end = () => controller.terminate();
      },
    }),
  );
  const { status, headers } = response;
  return {
    ...served,
    response: new Response(body, { status, headers }),
    async over(isWhole) {
      clearTimeout(timer);
      await served.over(isWhole);
    },
  };
}
