// Each way in which a client is served over HTTP: what is promised of one holds of all.
import { serveHttpInside } from "../../support/inside.ts";
import { serveSealedInside } from "../../teams/sessions/inside.ts";
import { type Speaker, speakers } from "./raw.ts";

export interface Way {
  readonly era: "legacy" | "modern";
  /** The product inside this process: its URL. */
  serve(env: Readonly<Record<string, string>>): Promise<string>;
  speak(url: string): Promise<Speaker>;
}

export const ways: readonly (readonly [string, Way])[] = [
  ["in a session", { era: "legacy", serve: serveHttpInside, speak: speakers.legacy }],
  ["in a sealed session", { era: "legacy", serve: serveSealedInside, speak: speakers.legacy }],
  ["in 2026-07-28", { era: "modern", serve: serveHttpInside, speak: speakers.modern }],
];

const oneSealed: Way["serve"] = (env) => serveSealedInside(env, 1);

/** The same, but that a sealed session has one instance: what was proven of the SDK is proven in each by itself. */
export const lasting = ways.map(
  ([name, way]) => [name, { ...way, serve: name === "in a sealed session" ? oneSealed : way.serve }] as const,
);
