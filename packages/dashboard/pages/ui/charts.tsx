/** Charts of few marks: columns over time, a line of two percentiles, a meter. No library. */
import { useState } from "react"
import { formatDay, formatHour } from "./Time.tsx"
import { chartLabels as labels } from "./words.ts"
import { useZone } from "./zone.ts"

const hourMillis = 3_600_000
const dayMillis = 86_400_000

export interface Series {
  readonly name: string
  /** A class for the colour of its marks. */
  readonly tone: string
  readonly values: ReadonlyArray<number>
}

/** A round number at or above the greatest, with a whole half. */
export const roundUp = (value: number): number => {
  if (value <= 4) return 4
  const size = 10 ** Math.floor(Math.log10(value))
  return (
    [1, 1.5, 2, 3, 4, 5, 6, 8, 10]
      .map((step) => step * size)
      .find((step) => step >= value && step % 2 === 0) ?? value
  )
}

const short = (value: number): string =>
  Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 }).format(value)

interface ColumnsProps {
  readonly title: string
  /** When each column begins. */
  readonly at: ReadonlyArray<string>
  readonly series: ReadonlyArray<Series>
  readonly height?: string
}

/** Names when each column begins. */
const namer = (at: ReadonlyArray<string>) => {
  const stepMillis = at.length > 1 ? Date.parse(at[1] ?? "") - Date.parse(at[0] ?? "") : hourMillis
  return (index: number): string => {
    const instant = Date.parse(at[index] ?? "")
    return stepMillis < dayMillis ? formatHour(instant) : formatDay(instant)
  }
}

const getSum = ({ values }: Series) => values.reduce((sum, value) => sum + value, 0)

/** One column for each span of time, the latest at the right. The legend reads out what the pointer is on. */
export const Columns = ({ at, height = "h-40", series, title }: ColumnsProps) => {
  const [visible, setVisible] = useState<number | null>(null)
  // Names of columns are times: they change with the zone.
  useZone()
  const total = (index: number) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0)
  const top = roundUp(Math.max(0, ...at.map((_, index) => total(index))))
  const toName = namer(at)

  return (
    <figure className="flex min-w-0 flex-col gap-2">
      <Legend at={at} toName={toName} series={series} visible={visible} title={title} />
      <div className="grid grid-cols-[2rem_1fr] gap-x-2">
        <div
          className={`flex flex-col justify-between text-right text-2xs text-faint tabular-nums ${height}`}
          aria-hidden="true"
        >
          <span className="-mt-2">{short(top)}</span>
          <span>{short(top / 2)}</span>
          <span className="-mb-2">0</span>
        </div>
        <div
          role="img"
          aria-label={`${title}: ${series.map((one) => `${one.name} ${getSum(one)}`).join(", ")}`}
          onPointerLeave={() => setVisible(null)}
          className={`relative flex border-b border-edge ${height}`}
        >
          <span className="absolute inset-x-0 top-0 border-t border-line" />
          <span className="absolute inset-x-0 top-1/2 border-t border-line" />
          {at.map((start, index) => (
            <div
              key={start}
              onPointerEnter={() => setVisible(index)}
              className={`relative flex h-full min-w-0 grow basis-0 flex-col justify-end gap-px px-px md:px-1 ${visible === index ? "bg-sunken" : ""}`}
            >
              <Column
                index={index}
                series={series}
                top={top}
                faded={visible !== null && visible !== index}
              />
            </div>
          ))}
        </div>
        <Marks count={at.length} toName={toName} />
      </div>
    </figure>
  )
}

const Legend = ({
  at,
  toName,
  series,
  visible,
  title,
}: Pick<ColumnsProps, "at" | "series" | "title"> & {
  toName: (index: number) => string
  visible: number | null
}) => (
  <figcaption className="flex flex-wrap items-baseline gap-x-4 gap-y-1 text-xs text-soft">
    <span className="mr-auto text-sm font-semibold text-ink">{title}</span>
    {series.map((one) => (
      <span key={one.name} className="flex items-center gap-1.5 tabular-nums">
        <span className={`size-2 rounded-[2px] ${one.tone}`} aria-hidden="true" />
        {one.name}
        <b className="font-semibold text-ink">
          {(visible === null ? getSum(one) : (one.values[visible] ?? 0)).toLocaleString()}
        </b>
      </span>
    ))}
    <span className="w-20 text-right tabular-nums max-md:hidden">
      {visible === null
        ? labels.total(short(series.reduce((sum, one) => sum + getSum(one), 0)))
        : `${toName(visible)}–${visible + 1 < at.length ? toName(visible + 1) : labels.now}`}
    </span>
  </figcaption>
)

const Column = ({
  faded,
  index,
  series,
  top,
}: {
  index: number
  series: ReadonlyArray<Series>
  top: number
  faded: boolean
}) =>
  series.map((one) => {
    const value = one.values[index] ?? 0
    return (
      value > 0 && (
        <span
          key={one.name}
          className={`block min-h-[2px] w-full max-w-6 self-center first:rounded-t-[2px] ${one.tone} ${faded ? "opacity-50" : ""}`}
          style={{ height: `${(value / top) * 100}%` }}
        />
      )
    )
  })

/** Five times below the columns, each where its column begins; the last one at the end. */
const Marks = ({ count, toName }: { count: number; toName: (index: number) => string }) => (
  <div
    className="relative col-start-2 mt-1 h-4 text-2xs text-faint tabular-nums"
    aria-hidden="true"
  >
    {Array.from({ length: 4 }, (_, part) => Math.round((part * count) / 4)).map((index) => (
      <span
        key={index}
        className={`absolute ${index === 0 ? "" : "-translate-x-1/2"}`}
        style={{ left: `${(index / count) * 100}%` }}
      >
        {toName(index)}
      </span>
    ))}
    <span className="absolute right-0">{labels.now}</span>
  </div>
)

/** The shape of a few values, without axes. */
export const Spark = ({ tone, values }: { values: ReadonlyArray<number>; tone: string }) => {
  const top = Math.max(1, ...values)
  return (
    <div className="flex h-8 items-end gap-px" aria-hidden="true">
      {values.map((value, index) => (
        <span
          // Their place is all that tells them apart.
          // oxlint-disable-next-line react/no-array-index-key
          key={index}
          className={`min-h-px grow rounded-t-[1px] ${value === 0 ? "bg-line" : tone}`}
          style={{ height: `${(value / top) * 100}%` }}
        />
      ))}
    </div>
  )
}

/** How much of a limit is used. */
export const Meter = ({ label, limit, value }: { label: string; value: number; limit: number }) => {
  const part = limit === 0 ? 1 : Math.min(1, value / limit)
  const tone = part >= 1 ? "bg-mark-red" : part >= 0.8 ? "bg-amber" : "bg-mark"
  return (
    <div
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={limit}
      aria-valuenow={value}
      aria-valuetext={labels.of(value.toLocaleString(), limit.toLocaleString())}
      className="h-1.5 overflow-hidden rounded-full bg-sunken"
    >
      <div className={`h-full rounded-full ${tone}`} style={{ width: `${part * 100}%` }} />
    </div>
  )
}
