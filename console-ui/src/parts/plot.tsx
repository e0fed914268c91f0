/**
 * A live plot. uPlot draws on a canvas of a fixed height, so that new figures never move the page; its colours come from
 * the style sheet and change with the theme. Its label has a summary for readers who cannot see the canvas.
 */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import UPlot from "uplot";
import { theme } from "../store/theme.ts";
import type { Tone } from "../store/states.ts";

export interface PlotSeries {
  readonly label: string;
  readonly tone: Tone;
  readonly kind: "line" | "bars";
}

interface Props {
  readonly label: string;
  /** Seconds since 1970, then one list per series. */
  readonly data: readonly (readonly (number | null)[])[];
  readonly series: readonly PlotSeries[];
  readonly height: number;
  /** Each list includes the ones after it: the readout subtracts them. */
  readonly stacked?: boolean;
  readonly format: (value: number) => string;
  /** What the plot shows, in words. */
  readonly summary: string;
}

export function Plot(props: Props): JSX.Element {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | undefined>(undefined);
  const readout = useRef<HTMLDivElement>(null);
  const { data, height, label, summary, series } = props;
  const shown = theme.value;
  const kinds = series.map(({ label: name }) => name).join();
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    const { current } = holder;
    if (!current) return undefined;
    const width = Math.max(120, current.clientWidth);
    const made = new UPlot(optionsOf(props, width, readout, latest), aligned(latest.current.data), current);
    plot.current = made;
    const observer = new ResizeObserver(() =>
      made.setSize({ width: Math.max(120, current.clientWidth), height }),
    );
    observer.observe(current);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [shown, kinds, height]);
  useEffect(() => plot.current?.setData(aligned(data)), [data]);
  return (
    <figure class="plot" aria-label={`${label}: ${summary}`} role="img">
      <div ref={holder} class="plot-canvas" style={{ height: `${height}px` }} />
      <div ref={readout} class="plot-readout num" aria-hidden="true" />
    </figure>
  );
}

function aligned(data: Props["data"]): UPlot.AlignedData {
  return data.map((row) => [...row]) as unknown as UPlot.AlignedData;
}

function optionsOf(
  { series, height }: Props,
  width: number,
  readout: { readonly current: HTMLDivElement | null },
  latest: { readonly current: Props },
): UPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const font = `11px ${colour("sans")}`;
  const bars = UPlot.paths.bars?.({ size: [0.62, 14], radius: 0.25 });
  const barred = series.some(({ kind }) => kind === "bars");
  const edge = (min: number, max: number): number => {
    const count = latest.current.data[0]?.length ?? 0;
    if (count < 2) return 30;
    return barred ? (max - min) / (count - 1) / 2 : 0;
  };
  const smooth = UPlot.paths.spline?.();
  const axis = {
    stroke: colour("ink-3"),
    font,
    ticks: { show: false },
    grid: { stroke: colour("line"), width: 1 },
  };
  return {
    width,
    height,
    // The last label of the time axis stands half beside the plot.
    padding: [10, 26, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false, setScale: false } },
    scales: {
      // Bars need room for half of one at either end.
      x: { time: true, range: (_plot, min, max) => [min - edge(min, max), max + edge(min, max)] },
      y: { range: (_plot, _min, max) => [0, niceTop(max)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        space: 70,
        values: (_plot, ticks) => ticks.map(formatClock),
      },
      {
        ...axis,
        size: 52,
        space: 34,
        values: (_plot, ticks) => ticks.map((value) => latest.current.format(value)),
      },
    ],
    series: [
      {},
      ...series.map(({ label, tone, kind }): UPlot.Series => {
        const path = kind === "bars" ? bars : smooth;
        return {
          label,
          stroke: colour(`${tone}-mid`),
          width: kind === "bars" ? 0 : 2,
          fill: kind === "bars" ? colour(`${tone}-mid`) : `${colour(`${tone}-mid`)}1f`,
          points: { show: false },
          spanGaps: true,
          ...(path && { paths: path }),
        };
      }),
    ],
    hooks: { setCursor: [(plot) => tell(plot, readout.current, latest.current)] },
  };
}

function tell(plot: UPlot, readout: HTMLDivElement | null, { format, series, data, stacked }: Props): void {
  if (!readout) return;
  const index = plot.cursor.idx;
  const at = index === null || index === undefined ? undefined : data[0]?.[index];
  if (index === null || index === undefined || at === null || at === undefined) {
    readout.textContent = "";
    return;
  }
  const figures = series.map(({ label }, place) => {
    const own = data[place + 1]?.[index];
    const above = stacked ? (data[place + 2]?.[index] ?? 0) : 0;
    const value = own === null || own === undefined ? own : own - above;
    return `${label} ${value === null || value === undefined ? "–" : format(value)}`;
  });
  readout.textContent = `${formatClock(at)}  ${figures.join("  ·  ")}`;
}

function formatClock(seconds: number): string {
  const at = new Date(seconds * 1_000);
  const two = (value: number): string => String(value).padStart(2, "0");
  const word = `${two(at.getHours())}:${two(at.getMinutes())}`;
  return at.getSeconds() === 0 ? word : `${word}:${two(at.getSeconds())}`;
}

/** A round top, so that the axis does not change with every figure. */
function niceTop(max: number): number {
  if (!(max > 0)) return 4;
  const size = 10 ** Math.floor(Math.log10(max));
  const step = [1, 1.5, 2, 3, 4, 5, 7.5, 10].find((one) => one * size >= max * 1.05) ?? 10;
  return Math.max(4, step * size);
}
