// Tests download_asset: the original bytes are in a new file of the download folder, and a preview shows text only.
import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { credentials } from "../api-client/client.ts";
import { operations } from "../operations.ts";
import { answer } from "../support/stub.ts";
import { sessionForTest } from "../unspecified/session.ts";
import { describeLatestRevision } from "./revisions.ts";

const TOOL = "download_asset";

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

describeLatestRevision((bench) => {
  test("every asset is saved byte for byte, under its own name", { tags: ["4.2/get-asset-content"] }, async () => {
    const { service, downloadDir } = bench();
    for (const assetId of service.emulator.assetIds) {
      const { structured } = await bench().ok(TOOL, { assetId });
      const { bytes } = await service.call(operations.getMicPublicAssetContent, { path: { assetId } });
      const path = String(structured["path"]);
      expect(structured).toEqual({
        summary: expect.any(String),
        path: join(downloadDir, String(structured["fileName"])),
        bytes: bytes.length,
        sha256: sha256(bytes),
        contentType: "application/octet-stream",
        fileName: expect.stringMatching(/^[^/\\]+\.(csv|bin)$/),
      });
      expect(sha256(await readFile(path))).toBe(sha256(bytes));
      expect((await stat(path)).mode & 0o077).toBe(0);
    }
    expect(await readdir(downloadDir)).toContain("जिले-for-review.csv");
  });
});

test("the bytes of an asset decide whether it is text, unless its type excludes that", {
  tags: ["4.2/assumes-no-asset-headers"],
}, async () => {
  const { stub, connection } = await sessionForTest();
  const long = `head,er\r\n${"x".repeat(3_000)}`;
  const minified = JSON.stringify({ rows: Array.from({ length: 400 }, (_, index) => ({ ज़िला: index })) });
  const none = undefined;
  const cases: readonly (readonly [type: string | undefined, content: string | Buffer, preview: string | undefined])[] =
    [
      [undefined, "a,b\n1,2", "a,b\n1,2"],
      [";;;", "a,b", none],
      ["application/json", "not JSON", "not JSON"],
      ["text/csv; charset=utf-8", "\ufeffa,b\n", "a,b\n"],
      ["application/json", '{"a":1}', '{"a":1}'],
      ["application/geo+json", "{}", "{}"],
      ["application/octet-stream", "", ""],
      ["TEXT/PLAIN", "plain", "plain"],
      ["text/csv", long, "head,er\r\n"],
      ["text/plain", `${"क".repeat(2_000)}`, ""],
      ["application/pdf", "%PDF-1.7 text", none],
      ["image/svg+xml", "<svg/>", none],
      ["text/csv", Buffer.from("a\u0000b"), none],
      ["text/csv", Buffer.from([0x61, 0xe4, 0x62, 0x0a]), none],
      [undefined, Buffer.from("\u001b[31mred"), none],
    ];
  for (const [index, [type, content, preview]] of cases.entries()) {
    stub.expect(answer(200, Buffer.from(content), type === undefined ? {} : { "content-type": type }));
    const { structured, text } = await connection.callTool(TOOL, { assetId: `asset-${index}`, preview: true });
    expect(structured?.["preview"], text).toBe(preview);
    expect(await readFile(String(structured?.["path"]))).toEqual(Buffer.from(content));
  }
  stub.expect(answer(200, minified, { "content-type": "application/json" }));
  const { structured } = await connection.callTool(TOOL, { assetId: "minified", preview: true });
  const preview = String(structured?.["preview"]);
  // The preview ends after a complete value, not within a character.
  expect(minified.startsWith(preview)).toBe(true);
  expect(preview).toMatch(/[,:{}]$/);
  expect(Buffer.byteLength(preview)).toBeLessThanOrEqual(2_048);
  expect(Buffer.byteLength(preview)).toBeGreaterThan(2_000);
});

test.each<Readonly<Record<string, string>>>([
  { "content-disposition": "inline" },
  { "content-disposition": "filename=; ;=" },
  { etag: '"not-a-hash"', "accept-ranges": "bytes" },
])(
  "a file is saved whatever the headers of its response: %j",
  { tags: ["4.2/assumes-no-asset-headers"] },
  async (headers) => {
    const { stub, connection } = await sessionForTest();
    const bytes = Buffer.from("any bytes");
    stub.expect(answer(200, bytes, headers));
    const { structured, text } = await connection.callTool(TOOL, { assetId: "asset-1" });
    expect(structured, text).toMatchObject({ bytes: bytes.length, sha256: sha256(bytes) });
  },
);

test("a preview contains no part of a secret", async () => {
  const { stub, connection } = await sessionForTest();
  const { clientSecret } = credentials;
  for (const [index, before] of [2_048 - clientSecret.length, 2_040, 2_047].entries()) {
    stub.expect(answer(200, Buffer.from(`${"a,".repeat(before / 2)}${clientSecret},b\n`)));
    const { raw } = await connection.callTool(TOOL, { assetId: `secret-${index}`, preview: true });
    expect(raw).not.toContain(clientSecret.slice(0, 6));
  }
});
