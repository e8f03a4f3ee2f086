// Shows the result of show_usage: the used, reserved and remaining amount of each quota, with exact figures.
import { useState } from "preact/hooks";
import { formatTime, formatTimeInZone } from "./host-context.ts";
import { type Bucket, isZero, percentOf, type Usage, usageOf } from "./usage/model.ts";
import "./usage.css";
import { reasonOf } from "./values.ts";
import { mount, Problem, type ViewProps } from "./view.tsx";

function Figures({ bucket }: { readonly bucket: Bucket }) {
  const rows = [
    ["Used", bucket.used, "used"],
    ["Reserved", bucket.reserved, "reserved"],
    ["Left", bucket.remaining, "left"],
    ["Granted", bucket.granted, "granted"],
  ] as const;
  return (
    <dl class="figures">
      {rows.map(([text, amount, kind]) => (
        <div key={kind}>
          <dt>
            <span class={`swatch ${kind}`} aria-hidden="true" />
            {text}
          </dt>
          <dd>{amount}</dd>
        </div>
      ))}
    </dl>
  );
}

function Quota({ bucket, resetTimezone }: { readonly bucket: Bucket } & Pick<Usage, "resetTimezone">) {
  const { metric, unit, granted, used, reserved, remaining, resetAt } = bucket;
  const usedPercent = percentOf(used, granted);
  const isUsedUp = isZero(remaining);
  return (
    <li class="quota">
      <h2>
        {metric} {unit !== "" && <span class="muted unit">{unit}</span>}
        {isUsedUp && <span class="bad unit">used up</span>}
      </h2>
      <div class="stack" aria-hidden="true">
        <span class="fill used" style={{ width: `${usedPercent}%` }} />
        <span
          class="fill reserved"
          style={{ width: `${Math.min(100 - usedPercent, percentOf(reserved, granted))}%` }}
        />
      </div>
      <Figures bucket={bucket} />
      {resetAt !== "" && <p class="muted reset">Resets {formatTimeInZone(resetAt, resetTimezone)}</p>}
    </li>
  );
}

function UsageView({ result, args, host, refresh }: ViewProps) {
  const [problem, setProblem] = useState<string>();
  const usage = usageOf(result);
  if (usage === undefined) return <Problem text="This is no usage: the host has handed over something else." />;
  const { window: span, buckets, observedAt, resetTimezone } = usage;
  const configured = buckets.filter(({ isConfigured }) => isConfigured);
  const others = buckets.filter(({ isConfigured }) => !isConfigured);

  async function update(): Promise<void> {
    const answer = await refresh(args).catch((error: unknown) => ({ isError: true, text: reasonOf(error) }));
    setProblem(answer.isError ? answer.text : undefined);
  }

  return (
    <>
      <header>
        <h1>Usage</h1>
        <span class="muted">of the organization, by {span === "ENTITLEMENT" ? "entitlement" : span.toLowerCase()}</span>
      </header>
      {configured.length === 0 ? (
        <p class="muted">No quota is configured.</p>
      ) : (
        <ul class="quotas">
          {configured.map((bucket) => (
            <Quota key={bucket.metric} bucket={bucket} resetTimezone={resetTimezone} />
          ))}
        </ul>
      )}
      {others.length > 0 && (
        <p class="notice muted">
          Not configured, which is not used up: {others.map(({ metric }) => metric).join(", ")}
        </p>
      )}
      {problem !== undefined && <Problem text={problem} />}
      <footer>
        <span>Observed {formatTime(observedAt)}</span>
        {host?.can("serverTools") && (
          <button type="button" onClick={() => void update()}>
            Update now
          </button>
        )}
      </footer>
    </>
  );
}

mount({ tool: "show_usage", label: "the usage", Body: UsageView });
