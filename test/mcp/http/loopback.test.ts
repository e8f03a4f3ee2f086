// Tests the values of --host: loopback addresses of this machine are accepted in any spelling, and all others are refused.
import { BlockList, isIPv6 } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { UsageError } from "../../../src/core/config.ts";
import { toUrlHost } from "../../../src/core/loopback.ts";
import { loopbackAddress } from "../../../src/transports/http/access.ts";
import { runInProcess as run } from "../../support/command.ts";
import { words } from "../../support/words.ts";
import { get } from "./raw-client.ts";
import { startHttp } from "./server.ts";

const lookup =
  (...addresses: readonly string[]) =>
  async () =>
    addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));

test.each([
  ["127.0.0.1", "127.0.0.1 localhost LOCALHOST"],
  ["127.9.8.7", "127.9.8.7"],
  ["::1", "::1 [::1] 0:0:0:0:0:0:0:1 ::0:1 ::0.0.0.1"],
])("serve --http listens on %s for each of these values of --host: %s", async (address, hosts) => {
  for (const host of words(hosts)) expect(await loopbackAddress(host, lookup("::1", "127.0.0.1")), host).toBe(address);
});

test("--host with any other value is refused without a name lookup", async () => {
  const others = words(`
    0.0.0.0 0 :: [::] 0:0:0:0:0:0:0:0 ::ffff:127.0.0.1 ::ffff:0.0.0.0 [127.0.0.1] [localhost] ::1%lo fe80::1 ::2
    192.168.1.10 10.0.0.1 169.254.1.1 128.0.0.1 126.255.255.255 127.1 127 0x7f.1 0x7f000001 2130706433 0177.0.0.1
    127.0.0.01 127.0.0.256 127.0.0.1.nip.io 127.0.0.1:80 http://127.0.0.1 localhost. my.localhost
    localhost.localdomain ip6-localhost my-laptop my-laptop.local example.com * 127.0.0.1,0.0.0.0`);
  const lookupNever = () => Promise.reject(new Error("asked"));
  for (const host of [...others, "", " ", " 127.0.0.1", "127.0.0.1 ", "127.0.0.1\n"]) {
    const error: unknown = await loopbackAddress(host, lookupNever).catch((thrown: unknown) => thrown);
    expect(error, host).toBeInstanceOf(UsageError);
    expect(String(error), host).toMatch(/loopback/);
  }
});

test.each([
  ["another address", lookup("192.168.1.10")],
  ["a loopback and another address", lookup("127.0.0.1", "10.0.0.1")],
  ["the unspecified address", lookup("::")],
  ["a mapped IPv4 address", lookup("::ffff:10.0.0.1")],
  ["no address", lookup()],
  ["an error", () => Promise.reject(new Error("ENOTFOUND"))],
])("--host localhost is refused if its lookup returns %s", async (_where, otherAddress) => {
  await expect(loopbackAddress("localhost", otherAddress)).rejects.toThrow(UsageError);
});

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");
const digits = fc.constantFrom(..."0 1 127 0x7f 0177 255 256 :: : . [ ] % ffff".split(" "), " ");

test("any accepted --host is a loopback address", async () => {
  const hosts = fc.oneof(
    ...[fc.string(), fc.ipV4(), fc.ipV4Extended(), fc.ipV6(), fc.domain()],
    fc.array(digits, { maxLength: 9 }).map((parts) => parts.join("")),
    fc.nat(255).map((last) => `127.0.0.${last}`),
  );
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(hosts, async (host) => {
      const address = await loopbackAddress(host, lookup("127.0.0.1")).catch((error: unknown) => error);
      if (typeof address !== "string") {
        expect(address).toBeInstanceOf(UsageError);
        return;
      }
      accepted += 1;
      expect(loopback.check(address, isIPv6(address) ? "ipv6" : "ipv4")).toBe(true);
      expect(new URL(`http://${toUrlHost(address)}/`).hostname).toBe(toUrlHost(address));
    }),
    { numRuns: 3_000 },
  );
  expect(accepted).toBeGreaterThan(50);
});

test("serve --http --host with a refused value ends with exit code 2 and names the accepted values", async () => {
  for (const host of ["0.0.0.0", ""]) {
    const { code, stdout, stderr } = await run(["serve", "--http", "--emulator", "--host", host]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(JSON.stringify(host));
    expect(stderr).toMatch(/127\.0\.0\.1, ::1 or localhost/);
  }
});

test("serve --http --host answers at the URL that it prints, with brackets for ::1, and exits with 1 if the port is in use", async () => {
  const { url: urlOfIpv6 } = await startHttp({ args: ["--host", "::1"] });
  expect(urlOfIpv6).toMatch(/^http:\/\/\[::1\]:\d+\/mcp$/);
  const { url } = await startHttp({ args: ["--host", "localhost"] });
  for (const each of [url, urlOfIpv6]) expect((await get(new URL("/healthz", each).href).answer).status).toBe(200);
  const flags = ["--host", "localhost", "--port", new URL(url).port];
  const { code, stdout, stderr } = await run(["serve", "--http", "--emulator", ...flags]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/--port/);
  expect(stderr).not.toMatch(/\n\s+at /);
});
