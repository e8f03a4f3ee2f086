// What is used of undici, in a module of its own: transport.ts imports it on the first call, since a listing needs none of it.
export { Agent, EnvHttpProxyAgent } from "undici";
