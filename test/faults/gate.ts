// A proxy in front of the API that holds, loses and replaces the answers to commands (POST), and records the commands that the API
// executed: the truth with which kills-in-flight.test.ts compares what the product states.

import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import * as z from "zod/v4";
import { serveForTest } from "../support/http-server.ts";

/** The moments of a command at which the gate holds it until the server process is dead. */
export const MOMENTS = ["headers", "body", "executed", "half answered", "answered"] as const;
export type Moment = (typeof MOMENTS)[number];

/** How the gate treats one attempt of a command. `refused` and `status` are answers of a gateway, or of an API that checks the state first. */
export type Treatment =
  | { readonly kind: "pass" | "lost" | "reset" }
  | { readonly kind: "hold"; readonly moment: Moment; readonly runsLater: boolean }
  | { readonly kind: "status"; readonly status: number; readonly isExecuted: boolean };

export interface Command {
  readonly key: string;
  /** The intended effect, such as "retry micjob_1"; undefined until a body was read. */
  unit: string | undefined;
  attempts: number;
  readonly executions: string[];
  readonly bodies: Set<string>;
}

export interface HeldCommand {
  readonly command: Command;
  readonly moment: Moment;
  /** Continues at the moment "answered": resolves when the answer is complete. At the others, lets the API work on after the kill. */
  readonly release: () => Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

const Created = z.object({ data: z.object({ id: z.string() }) });
const JobBody = z.object({ inputBindings: z.tuple([z.object({ inputId: z.string() })]) });
const InputBody = z.object({ referenceId: z.string() });
const RequestBody = z.object({ inputId: z.string() });

export async function gateForTest() {
  let upstream = "";
  let apiNow = Date.now;
  let treat: (command: Command) => Treatment = () => ({ kind: "pass" });
  const commands = new Map<string, Command>();
  const held: HeldCommand[] = [];
  /** The files of the inputs: a job of a file is the same effect, whichever input it has. */
  const files = new Map<string, string>();

  function unitOf(path: string, text: string): string {
    const body: unknown = JSON.parse(text);
    const [collection, id, verb] = path.replace(/^.*\/mic\//, "").split("/");
    if (verb !== undefined) return `${verb} ${id}`;
    if (collection === "inputs") return `inputs ${InputBody.parse(body).referenceId}`;
    const { inputId } = collection === "jobs" ? JobBody.parse(body).inputBindings[0] : RequestBody.parse(body);
    return `${collection} ${files.get(inputId) ?? inputId}`;
  }

  async function forward({ method, url = "", headers }: IncomingMessage, body: Buffer): Promise<Answer> {
    const target = new URL(url, upstream);
    const onwards = httpRequest(target, { method, headers: { ...headers, host: target.host } });
    onwards.end(body);
    const [response]: IncomingMessage[] = await once(onwards, "response");
    if (response === undefined) throw new Error("the API has not answered");
    return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
  }

  async function execute(request: IncomingMessage, body: Buffer, command: Command): Promise<Answer> {
    const answer = await forward(request, body);
    if (answer.status < 300 && answer.headers["idempotent-replayed"] === undefined) {
      const { id } = Created.parse(JSON.parse(answer.body.toString())).data;
      command.executions.push(id);
      if (command.unit?.startsWith("inputs ")) files.set(id, command.unit.slice("inputs ".length));
    }
    return answer;
  }

  async function send(response: ServerResponse, { status, headers, body }: Answer): Promise<void> {
    // The client is dead, and no event will follow.
    if (response.destroyed) return;
    response.writeHead(status, headers).end(body);
    await Promise.race([once(response, "finish"), once(response, "close")]);
  }

  function problem(status: number): Answer {
    const isTransient = status === 408 || status === 503;
    const body = {
      type: "about:blank",
      title: "Not now",
      status,
      code: "NOT_NOW",
      requestId: "r",
      retryable: isTransient,
    };
    const date = new Date(apiNow()).toUTCString();
    const headers = { "content-type": "application/problem+json", date, ...(isTransient && { "retry-after": "0" }) };
    return { status, headers, body: Buffer.from(JSON.stringify({ ...body, fieldErrors: [] })) };
  }

  /** Adds the command to `held`, and resolves when it is released. `finish` continues it then. */
  const hold = (command: Command, moment: Moment, finish: () => Promise<unknown>): void =>
    void held.push({ command, moment, release: async () => void (await finish()) });

  async function serveCommand(request: IncomingMessage, response: ServerResponse, key: string): Promise<void> {
    const command = commands.get(key) ?? { key, unit: undefined, attempts: 0, executions: [], bodies: new Set() };
    commands.set(key, command);
    command.attempts += 1;
    const treatment = treat(command);
    const moment = treatment.kind === "hold" ? treatment.moment : undefined;
    // The request is never read beyond its headers.
    if (moment === "headers") return hold(command, moment, async () => undefined);
    const body = await buffer(request);
    command.bodies.add(body.toString());
    command.unit = unitOf(request.url ?? "", body.toString());
    const run = () => execute(request, body, command);
    if (treatment.kind === "hold" && moment === "body")
      return hold(command, moment, async () => treatment.runsLater && (await run()));
    if (treatment.kind === "lost") return void response.socket?.destroy();
    if (treatment.kind === "status" && !treatment.isExecuted) return await send(response, problem(treatment.status));
    const answer = await run();
    if (treatment.kind === "reset") return void response.socket?.resetAndDestroy();
    if (treatment.kind === "status") return await send(response, problem(treatment.status));
    if (moment === "executed") return hold(command, moment, async () => undefined);
    if (moment === "answered") return hold(command, moment, () => send(response, answer));
    if (moment === undefined) return await send(response, answer);
    response.writeHead(answer.status, { ...answer.headers, "content-length": answer.body.length });
    response.write(answer.body.subarray(0, answer.body.length / 2), () => hold(command, moment, async () => undefined));
  }

  const server = createServer((request, response) => {
    const key = request.headers["idempotency-key"];
    const served =
      typeof key === "string"
        ? serveCommand(request, response, key)
        : buffer(request).then(async (body) => await send(response, await forward(request, body)));
    // A killed server has disconnected.
    served.catch(() => response.destroy());
  });
  const url = await serveForTest(server);
  return {
    url,
    held,
    commands,
    files,
    /** Starts with an API without records. `now`: its clock, which the gate's own answers show, too. */
    reset(newUpstream: string, now: () => number): void {
      upstream = newUpstream;
      apiNow = now;
      for (const each of [commands, files]) each.clear();
    },
    treat(newTreatment: typeof treat): void {
      treat = newTreatment;
    },
    commandsFor: (unit: string) => [...commands.values()].filter((command) => command.unit === unit),
    executionsOf: (key: string): readonly string[] => commands.get(key)?.executions ?? [],
  };
}
export type Gate = Awaited<ReturnType<typeof gateForTest>>;
