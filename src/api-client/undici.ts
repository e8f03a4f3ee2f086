// This module re-exports the required parts of undici. transport.ts imports it on the first call, because a tool listing does not need it.
export { Agent, buildConnector, Pool, ProxyAgent } from "undici";
