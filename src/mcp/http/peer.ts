// Finds the user whose process is at the other end of a loopback connection: Linux lists each socket in /proc/net/tcp and tcp6.
import { readFileSync } from "node:fs";
import { isIPv6, type Socket } from "node:net";
import { endianness } from "node:os";

const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];

/** The table is read in pieces while sockets come and go: one look may miss a line, three hardly will. */
const MAX_LOOKS = 3;

/** `sl: local remote state queues timer retransmits uid timeout inode`, addresses and ports in hexadecimal. */
const LINE = /^ *\d+: ([0-9A-F]+):([0-9A-F]{4}) ([0-9A-F]+):([0-9A-F]{4}) (?:\S+ +){4}(\d+) +\d+ +(\d+) /gm;

const hexPort = (port: number): string => port.toString(16).toUpperCase().padStart(4, "0");

/** Normalises an address of node's; a mapped IPv6 address (::ffff:127.0.0.1) becomes the IPv4 one. */
const plain = (address: string): string => {
  const [, four] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  return four ?? (isIPv6(address) && !address.includes("%") ? new URL(`http://[${address}]`).hostname : address);
};

/** The table writes an address as words of 32 bits, each in this machine's own byte order. */
function readAddress(hex: string): string {
  const bytes = Buffer.from(hex, "hex");
  if (endianness() === "LE") bytes.swap32();
  if (bytes.length === 4) return bytes.join(".");
  const groups = bytes.toString("hex").match(/.{4}/g) ?? [];
  const isMapped = /^0{20}ffff/.test(bytes.toString("hex"));
  return isMapped ? bytes.subarray(12).join(".") : plain(groups.join(":"));
}

interface Ends {
  readonly address: string | undefined;
  readonly port: number | undefined;
}

function ownerIn(table: string, from: Ends, to: Ends): number | undefined {
  const { address: fromAddress = "", port: fromPort = 0 } = from;
  const { address: toAddress = "", port: toPort = 0 } = to;
  for (const [, local = "", localPort, remote = "", remotePort, uid, inode] of table.matchAll(LINE)) {
    if (localPort !== hexPort(fromPort) || remotePort !== hexPort(toPort)) continue;
    if (readAddress(local) !== plain(fromAddress) || readAddress(remote) !== plain(toAddress)) continue;
    // A socket that its process has closed has no owner, and stands under root's uid: its sender need not be root.
    if (inode !== "0") return Number(uid);
  }
  return undefined;
}

function look(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

/** The uid of the peer's socket; undefined where it cannot be found. Synchronous, so that requests cannot overtake each other. */
export function peerUid({ remoteAddress, remotePort, localAddress, localPort }: Socket): number | undefined {
  const from = { address: remoteAddress, port: remotePort };
  const to = { address: localAddress, port: localPort };
  for (let looks = 0; looks < MAX_LOOKS; looks++)
    for (const path of TABLES) {
      const uid = ownerIn(look(path), from, to);
      if (uid !== undefined) return uid;
    }
  return undefined;
}
