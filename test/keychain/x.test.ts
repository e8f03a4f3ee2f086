import { expect, test } from "vitest";
import { run } from "../process/child.ts";
import { sessionForTest } from "../support/secret-service.ts";
import { emulatorForTest } from "../support/emulator.ts";
for (const state of ["unlocked","absent","mute"] as const) test(state, async () => {
  const s = await sessionForTest(state);
  const e = await emulatorForTest();
  const t=(n:string,r:unknown)=>console.log(state,n,Date.now()-at,r); let at=Date.now();
  t("login", await run(["login","--base-url",e.baseUrl,"--client-id",e.clientId,"--workspace-id",e.workspaceId,"--secret-stdin"],{env:s.env,input:e.clientSecret+"\n"})); at=Date.now();
  t("status", await run(["status"],{env:s.env})); at=Date.now();
  t("doctor", await run(["doctor"],{env:s.env})); at=Date.now();
  if(state==="unlocked"){ await s.lock();  t("lockeddoctor", await run(["doctor"],{env:s.env})); at=Date.now(); t("lockedstatus", await run(["status"],{env:s.env}));  t("lockedlogout", await run(["logout"],{env:s.env})); await s.unlock(); }
  t("logout", await run(["logout"],{env:s.env})); at=Date.now();
  t("logout", await run(["logout"],{env:s.env}));
  expect(1).toBe(1);
}, 60000);
