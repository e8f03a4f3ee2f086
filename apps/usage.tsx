// Shows the result of show_usage: the used, reserved and remaining amount of each quota, with exact figures.
import { useState } from "preact/hooks";
import { formatDecimal, formatTimeInZone } from "./host-context.ts";
import { type Bucket, isZero, percentOf, toByteUnit, toReadableName, usageOf } from "./usage/model.ts";
import "./usage.css";
import { reasonOf } from "./values.ts";
import { mount, Problem, type ViewProps } from "./view.tsx";

/** An amount of more characters may break anywhere, so that it fits a narrow column. */
const MAX_UNBROKEN_CHARS = 16;

/** Shows an amount with grouped digits. Bytes are in a larger unit; the exact number is in the title. */
function Amount({ amount, unit }: { readonly amount: string } & Pick<Bucket, "unit">) {
  const exact = formatDecimal(amount);
  if (unit !== "bytes") return <span class={exact.length > MAX_UNBROKEN_CHARS ? "breakable" : ""}>{exact}</span>;
  const [scaled, scaledUnit] = toByteUnit(amount);
  return (
    <span title={`${exact} bytes`}>
      {formatDecimal(scaled)} {scaledUnit}
    </span>
  );
}

/** A smaller share cannot be seen in a bar. */
const MIN_BAR_PERCENT = 1;

function QuotaRow({ bucket, showsReserved }: { readonly bucket: Bucket; readonly showsReserved: boolean }) {
  const { metric, unit, granted, used, reserved, remaining } = bucket;
  const usedPercent = percentOf(used, granted);
  const reservedPercent = Math.min(100 - usedPercent, percentOf(reserved, granted));
  return (
    <tr>
      <th scope="row">
        {toReadableName(metric)}
        {isZero(remaining) && <span class="bad badge-text">used up</span>}
        {usedPercent + reservedPercent >= MIN_BAR_PERCENT && (
          <span class="stack" aria-hidden="true">
            <span class="fill used" style={{ width: `${usedPercent}%` }} />
            <span class="fill reserved" style={{ width: `${reservedPercent}%` }} />
          </span>
        )}
      </th>
      <td class="amount">
        <Amount amount={used} unit={unit} />
      </td>
      {showsReserved && (
        <td class="amount">
          <Amount amount={reserved} unit={unit} />
        </td>
      )}
      <td class="amount">
        <Amount amount={remaining} unit={unit} />{" "}
        <span class="muted">
          of <Amount amount={granted} unit={unit} />
        </span>
      </td>
    </tr>
  );
}

function QuotaTable({ buckets }: { readonly buckets: readonly Bucket[] }) {
  const showsReserved = buckets.some(({ reserved }) => reserved !== "" && !isZero(reserved));
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Quota</th>
          {["Used", ...(showsReserved ? ["Reserved"] : []), "Left"].map((heading) => (
            <th key={heading} scope="col" class="amount">
              {heading}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {buckets.map((bucket) => (
          <QuotaRow key={bucket.metric} bucket={bucket} showsReserved={showsReserved} />
        ))}
      </tbody>
    </table>
  );
}

function UsageView({ result, args, host, refresh }: ViewProps) {
  const [problem, setProblem] = useState<string>();
  const usage = usageOf(result);
  if (usage === undefined) return <Problem text="This result does not contain usage: the host sent something else." />;
  const { window: span, buckets, observedAt, resetTimezone } = usage;
  const configured = buckets.filter(({ isConfigured }) => isConfigured);
  const others = buckets.filter(({ isConfigured }) => !isConfigured);
  const [resetAt] = configured.map((bucket) => bucket.resetAt).filter((instant) => instant !== "");

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
      {configured.length === 0 ? <p class="muted">No quota is configured.</p> : <QuotaTable buckets={configured} />}
      {others.length > 0 && (
        <p class="notice muted">
          Not configured (not used up): {others.map(({ metric }) => toReadableName(metric)).join(", ")}
        </p>
      )}
      {problem !== undefined && <Problem text={problem} onTryAgain={() => void update()} />}
      <footer>
        {resetAt !== undefined && <span>Resets {formatTimeInZone(resetAt, resetTimezone)}</span>}
        <span>Observed {formatTimeInZone(observedAt, resetTimezone)}</span>
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
