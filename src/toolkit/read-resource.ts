// ResourceReading one resource: waits while it moves, shows it lean or whole, and says no more than is new.

import type { CallRequest } from "../api-client/encode.ts";
import type { JsonEndpoint } from "../contract/endpoints/endpoint.ts";
import { view } from "./pages.ts";
import type { Ports } from "./ports.ts";
import { type ActionSubject, type AdvisedResult, advisedResult, unchangedResult, type View } from "./results.ts";
import type { EnvelopeOf } from "./run-action.ts";
import type { Progress, ToolCall } from "./tool-call.ts";
import { waitSeconds, waitWhile } from "./wait-while.ts";

export const waitAndView = { waitSeconds, view };

/** How a resource stands: `is` is what has to change to be news, `at` how far it is, `units` what can be counted of that. */
export interface Position {
  readonly is: string;
  readonly at?: string;
  readonly units?: number;
}

/** A kind of resource that moves. */
export interface MovingSubject<T> extends ActionSubject<T> {
  /** Changes whenever the resource does. */
  version(resource: T): string | number | bigint;
  /** It goes on by itself. */
  isMoving(resource: T): boolean;
  /** It goes on when a person has acted. */
  waitsForPerson?(resource: T): boolean;
  standing(resource: T): Position;
  /** Where the service counts. */
  progress?(resource: T): Progress;
}

interface ResourceReading<T extends { readonly state: string }> {
  readonly endpoint: JsonEndpoint<EnvelopeOf<T>>;
  readonly path: NonNullable<CallRequest["path"]>;
  readonly subject: MovingSubject<T>;
  readonly waitSeconds?: number | undefined;
  readonly view?: View | undefined;
}

function newsOf(first: Position, last: Position, seconds: number): string {
  const more = (last.units ?? 0) - (first.units ?? 0);
  const units = more > 0 ? ` (+${more} in ${seconds} s)` : ` after ${seconds} s`;
  return `Still ${last.is}${last.at === undefined ? "" : `, ${last.at}`}${units}.`;
}

export async function readResource<T extends { readonly state: string }>(
  { endpoint, path, subject, waitSeconds: seconds = 0, view: shown = "summary" }: ResourceReading<T>,
  call: ToolCall,
  { service }: Pick<Ports, "service">,
): Promise<AdvisedResult<T>> {
  const { timing } = service;
  const startedAt = timing.now();
  let readings = 0;
  let first: T | undefined;
  const answer = await waitWhile(
    {
      async read() {
        const read = await service.call(endpoint, { path }, call.context);
        first ??= read.value.data;
        return read;
      },
      version: ({ value }) => subject.version(value.data),
      isMoving: ({ value }) => subject.isMoving(value.data),
      waitsForPerson: ({ value }) => subject.waitsForPerson?.(value.data) ?? false,
      onRead({ value: { data } }) {
        readings += 1;
        const { is, at } = subject.standing(data);
        call.report(
          subject.progress?.(data) ?? { progress: readings, message: at === undefined ? is : `${is}, ${at}` },
        );
      },
    },
    seconds,
    { ...call.context, timing },
  );
  const result = await advisedResult(answer, subject, call, shown);
  if (seconds === 0 || shown === "full" || !result.advice.isRoutine) return result;
  const { data } = result;
  const [before, after] = [subject.standing(first ?? data), subject.standing(data)];
  if (before.is !== after.is) return result;
  return unchangedResult(
    answer,
    result,
    newsOf(before, after, Math.round((timing.now() - startedAt) / 1000)),
    data.state,
  );
}
