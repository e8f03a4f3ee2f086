// Tests the state and cache folders of each platform, with that platform's variables; docs/operate/operations.md lists them.
import { expect, test } from "vitest";
import { cacheFolder, stateFolder } from "../../src/core/platform-folders.ts";

const linux = { name: "linux", home: "/home/asha" } as const;
const mac = { name: "darwin", home: "/Users/asha" } as const;
const windows = { name: "win32", home: "C:\\Users\\Asha" } as const;

test.each([
  [linux, {}, "/home/asha/.local/state/mic-mcp", "/home/asha/.cache/mic-mcp"],
  [linux, { XDG_STATE_HOME: "/s", XDG_CACHE_HOME: "/c" }, "/s/mic-mcp", "/c/mic-mcp"],
  [linux, { XDG_STATE_HOME: "", XDG_CACHE_HOME: "" }, "/home/asha/.local/state/mic-mcp", "/home/asha/.cache/mic-mcp"],
  [mac, {}, "/Users/asha/Library/Application Support/mic-mcp", "/Users/asha/Library/Caches/mic-mcp"],
  [
    mac,
    { XDG_STATE_HOME: "/s" },
    "/Users/asha/Library/Application Support/mic-mcp",
    "/Users/asha/Library/Caches/mic-mcp",
  ],
  [windows, { LOCALAPPDATA: "D:\\Local" }, "D:\\Local\\mic-mcp", "D:\\Local\\mic-mcp\\cache"],
  [windows, {}, "C:\\Users\\Asha\\AppData\\Local\\mic-mcp", "C:\\Users\\Asha\\AppData\\Local\\mic-mcp\\cache"],
] as const)("state and cache folders on $name with %j", (platform, environment, state, cache) => {
  expect(stateFolder(environment, platform)).toBe(state);
  expect(cacheFolder(environment, platform)).toBe(cache);
});
