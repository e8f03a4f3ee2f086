// The house's rules (CONTRIBUTING.md, "Rooms"): who may import whom, which package belongs to which room, who writes to stdout.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";

interface Room {
  /** Other rooms it may import from. */
  readonly rooms: readonly string[];
  /** Packages it may import; node's own modules are open to all but the contract. */
  readonly packages: readonly string[];
}

const ROOMS: Readonly<Record<string, Room>> = {
  contract: { rooms: [], packages: ["zod"] },
  failure: { rooms: ["contract", "outside"], packages: [] },
  skills: { rooms: [], packages: [] },
  excerpt: { rooms: [], packages: [] },
  outside: { rooms: ["excerpt"], packages: [] },
  owner: { rooms: [], packages: [] },
  config: { rooms: ["contract"], packages: [] },
  service: {
    rooms: ["contract", "failure", "excerpt", "outside", "owner"],
    packages: ["zod", "undici", "lossless-json", "ajv"],
  },
  auth: { rooms: ["contract", "failure", "excerpt", "outside", "service"], packages: ["zod", "@napi-rs/keyring"] },
  actions: {
    rooms: ["contract", "failure", "excerpt", "outside", "owner", "service"],
    packages: ["zod", "lossless-json", "pg", "@photostructure/sqlite"],
  },
  geography: {
    rooms: ["contract", "failure", "excerpt", "outside", "service"],
    packages: ["zod", "fastest-levenshtein"],
  },
  catalogue: {
    rooms: ["contract", "failure", "excerpt", "outside", "config", "service", "auth", "actions", "geography"],
    packages: ["zod"],
  },
  tools: {
    rooms: ["contract", "failure", "outside", "service", "actions", "geography", "catalogue"],
    packages: ["zod"],
  },
  mcp: {
    rooms: ["contract", "failure", "outside", "config", "service", "auth", "actions", "geography", "catalogue"],
    packages: ["zod", "@modelcontextprotocol/server"],
  },
  emulator: { rooms: ["contract"], packages: ["zod", "ajv", "lossless-json"] },
  // The demo is a client: the independent, older one.
  demo: { rooms: ["contract", "outside"], packages: ["zod", "@modelcontextprotocol/sdk"] },
  cli: {
    rooms: [
      "contract",
      "failure",
      "outside",
      "config",
      "skills",
      "owner",
      "service",
      "auth",
      "actions",
      "geography",
      "catalogue",
      "tools",
      "mcp",
      "emulator",
      "demo",
    ],
    packages: ["pino"],
  },
};

// Commands speak to a person on stdout; everything a server loads must not.
const MAY_WRITE_STDOUT: ReadonlySet<string> = new Set(["cli", "demo"]);

const roomOf = (path: string): string => /^(?:src\/)?([^/.]+)/.exec(path)?.[1] ?? "";
const packageOf = (specifier: string): string => /^(@[^/]+\/[^/]+|[^/]+)/.exec(specifier)?.[1] ?? "";

const specifiersIn = (code: string): string[] =>
  [...code.matchAll(/(?:\bfrom|\bimport|\bimport\()\s*"([^",\s]+)"/g)].flatMap((match) => match[1] ?? []);

function violations(path: string, code: string): string[] {
  const name = roomOf(path);
  const room = ROOMS[name];
  if (!room) return [`${path} is in no room`];
  return specifiersIn(code).flatMap((specifier) => {
    if (specifier.startsWith("node:")) return name === "contract" ? [`${path} imports ${specifier}`] : [];
    if (!specifier.startsWith("."))
      return room.packages.includes(packageOf(specifier)) ? [] : [`${path} imports ${specifier}`];
    const target = roomOf(normalize(join(dirname(path), specifier)));
    const allowed = target === name || target === "package" || room.rooms.includes(target);
    return allowed ? [] : [`${path} imports ${specifier}`];
  });
}

const files = ["src", "tools"]
  .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)))
  .filter((path) => path.endsWith(".ts"))
  .map((path) => ({ path, code: readFileSync(path, "utf8") }));

describe("rooms", () => {
  test("imports run one way, and packages stay in their rooms", () => {
    expect(files.length).toBeGreaterThan(50);
    expect(files.flatMap(({ path, code }) => violations(path, code))).toEqual([]);
  });

  test("the rule itself sees what it forbids", () => {
    expect(violations("src/contract/a.ts", 'import x from "../service/call.ts";')).toHaveLength(1);
    expect(violations("src/service/a.ts", 'const x = await import("hono");')).toHaveLength(1);
    expect(violations("src/emulator/world/a.ts", 'import "../../service/call.ts";')).toHaveLength(1);
    expect(violations("tools/a.ts", 'import type { T } from "@modelcontextprotocol/server";')).toHaveLength(1);
    expect(violations("src/contract/a.ts", 'import { x } from "./ids.ts";')).toEqual([]);
  });

  test("only commands write to stdout", () => {
    const writers = files.filter(({ code }) => /process\s*\.\s*stdout|console\s*\.\s*(log|info|debug)\(/.test(code));
    expect(writers.map(({ path }) => roomOf(path)).filter((room) => !MAY_WRITE_STDOUT.has(room))).toEqual([]);
  });

  test("serving over HTTP is loaded only where it is asked for", () => {
    const isHttp = (path: string) => /^src\/(mcp\/http[./]|cli\/serve-http\.)/.test(path);
    const loaded = ({ path, code }: (typeof files)[number]) =>
      [...code.matchAll(/^(?:import|export) (?!type)[^;]*?"(\.[^"]+)"/gm)].map(([, to = ""]) =>
        join(dirname(path), to),
      );
    expect(
      files
        .filter(({ path }) => isHttp(path))
        .flatMap(loaded)
        .filter(isHttp).length,
    ).toBeGreaterThan(10);
    expect(
      files
        .filter(({ path }) => !isHttp(path))
        .flatMap(loaded)
        .filter(isHttp),
    ).toEqual([]);
  });

  test("only the emulator reads the geography table", () => {
    const readers = files.filter(({ code }) => code.includes("lgd-")).map(({ path }) => roomOf(path));
    expect(new Set(readers)).toEqual(new Set(["emulator"]));
  });
});
