// Shows states as tiles in five shades, with about the same number of states in each shade.
import { formatNumber } from "../host-context.ts";
import { TILES } from "../tiles.ts";
import type { Figure, Row } from "./model.ts";

const SHADES = 5;

/** Returns the shade of each figure, from 0 (light) to 4 (dark). Equal figures have the same shade. */
function shadesOf(figures: readonly number[]): ReadonlyMap<number, number> {
  const sorted = [...figures].sort((a, b) => a - b);
  const shades = new Map<number, number>();
  for (const [place, value] of sorted.entries())
    if (!shades.has(value)) shades.set(value, Math.floor((place * SHADES) / sorted.length));
  return shades;
}

function Legend({ shades }: { readonly shades: ReadonlyMap<number, number> }) {
  const ranges = Array.from({ length: SHADES }, (_, shade) => {
    const values = [...shades].flatMap(([value, its]) => (its === shade ? [value] : []));
    return { shade, low: Math.min(...values), high: Math.max(...values), isEmpty: values.length === 0 };
  });
  return (
    <ul class="legend" aria-hidden="true">
      {ranges
        .filter(({ isEmpty }) => !isEmpty)
        .map(({ shade, low, high }) => (
          <li key={shade}>
            <span class={`swatch shade-${shade}`} />
            {low === high ? formatNumber(low) : `${formatNumber(low)}–${formatNumber(high)}`}
          </li>
        ))}
    </ul>
  );
}

interface Props {
  readonly rows: readonly Row[];
  /** All rows, shown or not, so that a filter does not change the shades. */
  readonly all: readonly Row[];
  readonly by: Figure;
  readonly figureLabel: string;
}

export function TileGrid({ rows, all, by, figureLabel }: Props) {
  const shades = shadesOf(all.map(({ figures }) => figures[by]));
  const placed = rows.filter(({ code }) => TILES.has(code));
  if (all.length < 2 || !all.some(({ code }) => TILES.has(code))) return null;
  return (
    <figure class="tiles">
      <div
        class="grid"
        role="img"
        aria-label={`States as tiles, shaded by ${figureLabel}; the table has the same figures.`}
      >
        {placed.map(({ code, figures }) => {
          const [column = 0, row = 0] = TILES.get(code) ?? [];
          return (
            <span
              key={code}
              class={`tile shade-${shades.get(figures[by]) ?? 0}`}
              style={{ gridColumn: column, gridRow: row + 1 }}
            >
              <b>{code}</b>
              {formatNumber(figures[by])}
            </span>
          );
        })}
      </div>
      <Legend shades={shades} />
      <figcaption>A tile for each state or union territory, roughly where it lies. Not a map.</figcaption>
    </figure>
  );
}
