import { visible } from "../text/runs";
import { duration, LANES, type Lane, type Span, scaleOf, totals } from "./lanes";

interface Props {
  spans: readonly Span[];
}

const NAMES: Record<Lane, string> = { model: "Model", server: "Server tool", human: "Human", browser: "Browser" };
const WIDTH = 420;
const LABEL = 82;
const ROW = 30;
const BAR = 17;
const TOP = 8;
/** Thinner bars would be invisible. */
const THINNEST = 3;

/** The timeline of a turn: who was working, and who was waited for. */
export function SwimLane({ spans }: Props) {
  const place = scaleOf(spans);
  const sums = totals(spans);
  const busy = LANES.filter((lane) => sums[lane] > 0).map((lane) => `${NAMES[lane]} ${duration(sums[lane])}`);
  const height = TOP * 2 + ROW * LANES.length;
  return (
    <figure className="swim-lane">
      <svg viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={`Timeline: ${busy.join(", ")}`}>
        {LANES.map((lane, row) => {
          const y = TOP + row * ROW;
          return (
            <g key={lane} data-lane={lane}>
              <line className="swim-lane__line" x1={LABEL} x2={WIDTH} y1={y + ROW / 2} y2={y + ROW / 2} />
              <text className="swim-lane__name" x={0} y={y + ROW / 2} dominantBaseline="central">
                {NAMES[lane]}
              </text>
              {spans
                .filter((span) => span.lane === lane)
                .map((span) => {
                  const left = LABEL + place(span.from) * (WIDTH - LABEL);
                  const width = Math.max(THINNEST, (place(span.to) - place(span.from)) * (WIDTH - LABEL));
                  const label = duration(span.to - span.from);
                  return (
                    <g key={`${span.from}-${span.label}-${span.to}`} data-open={span.isOpen}>
                      <title>{`${NAMES[lane]}, ${visible(span.label)}: ${label}${span.isOpen ? " so far" : ""}`}</title>
                      <rect
                        className="swim-lane__bar"
                        data-lane={lane}
                        x={Math.min(left, WIDTH - width)}
                        y={y + (ROW - BAR) / 2}
                        width={width}
                        height={BAR}
                        rx={4}
                      />
                      {width > 46 && (
                        <text className="swim-lane__time" x={left + width / 2} y={y + ROW / 2}>
                          {label}
                        </text>
                      )}
                    </g>
                  );
                })}
            </g>
          );
        })}
      </svg>
      <figcaption className="swim-lane__sums">
        {LANES.map((lane) => (
          <span key={lane} data-lane={lane}>
            <i aria-hidden="true" /> {NAMES[lane]} <b>{duration(sums[lane])}</b>
          </span>
        ))}
        <span className="swim-lane__scale">Widths grow with the square root of time.</span>
      </figcaption>
    </figure>
  );
}
