/**
 * When a reminder runs: its five cron fields, time zones and clock changes (contract: Schedules).
 * This module reads the fields, because `cron-parser` accepts what the contract refuses (six
 * fields, `@daily`, `L`, `?`, `5/15`) and refuses lists with a repeated value. The library finds
 * matching days in UTC, where every day has 24 hours. The last section handles clock changes.
 */
import { CronDate, CronExpressionParser } from "cron-parser"
import { Result } from "effect"
import type { Brand } from "effect"
import { formatInstant } from "./Time.ts"

/**
 * Names of the tz database, zones and links, in its own spelling. Made by
 * `zoneNames.ts`; the database is in the public domain.
 */
export const zoneNames: ReadonlyArray<string> = `
Africa/Abidjan Africa/Accra Africa/Addis_Ababa Africa/Algiers Africa/Asmara Africa/Asmera
Africa/Bamako Africa/Bangui Africa/Banjul Africa/Bissau Africa/Blantyre Africa/Brazzaville
Africa/Bujumbura Africa/Cairo Africa/Casablanca Africa/Ceuta Africa/Conakry Africa/Dakar
Africa/Dar_es_Salaam Africa/Djibouti Africa/Douala Africa/El_Aaiun Africa/Freetown Africa/Gaborone
Africa/Harare Africa/Johannesburg Africa/Juba Africa/Kampala Africa/Khartoum Africa/Kigali
Africa/Kinshasa Africa/Lagos Africa/Libreville Africa/Lome Africa/Luanda Africa/Lubumbashi
Africa/Lusaka Africa/Malabo Africa/Maputo Africa/Maseru Africa/Mbabane Africa/Mogadishu
Africa/Monrovia Africa/Nairobi Africa/Ndjamena Africa/Niamey Africa/Nouakchott Africa/Ouagadougou
Africa/Porto-Novo Africa/Sao_Tome Africa/Timbuktu Africa/Tripoli Africa/Tunis Africa/Windhoek
America/Adak America/Anchorage America/Anguilla America/Antigua America/Araguaina
America/Argentina/Buenos_Aires America/Argentina/Catamarca America/Argentina/ComodRivadavia
America/Argentina/Cordoba America/Argentina/Jujuy America/Argentina/La_Rioja
America/Argentina/Mendoza America/Argentina/Rio_Gallegos America/Argentina/Salta
America/Argentina/San_Juan America/Argentina/San_Luis America/Argentina/Tucuman
America/Argentina/Ushuaia America/Aruba America/Asuncion America/Atikokan America/Atka America/Bahia
America/Bahia_Banderas America/Barbados America/Belem America/Belize America/Blanc-Sablon
America/Boa_Vista America/Bogota America/Boise America/Buenos_Aires America/Cambridge_Bay
America/Campo_Grande America/Cancun America/Caracas America/Catamarca America/Cayenne America/Cayman
America/Chicago America/Chihuahua America/Ciudad_Juarez America/Coral_Harbour America/Cordoba
America/Costa_Rica America/Coyhaique America/Creston America/Cuiaba America/Curacao
America/Danmarkshavn America/Dawson America/Dawson_Creek America/Denver America/Detroit
America/Dominica America/Edmonton America/Eirunepe America/El_Salvador America/Ensenada
America/Fort_Nelson America/Fort_Wayne America/Fortaleza America/Glace_Bay America/Godthab
America/Goose_Bay America/Grand_Turk America/Grenada America/Guadeloupe America/Guatemala
America/Guayaquil America/Guyana America/Halifax America/Havana America/Hermosillo
America/Indiana/Indianapolis America/Indiana/Knox America/Indiana/Marengo America/Indiana/Petersburg
America/Indiana/Tell_City America/Indiana/Vevay America/Indiana/Vincennes America/Indiana/Winamac
America/Indianapolis America/Inuvik America/Iqaluit America/Jamaica America/Jujuy America/Juneau
America/Kentucky/Louisville America/Kentucky/Monticello America/Knox_IN America/Kralendijk
America/La_Paz America/Lima America/Los_Angeles America/Louisville America/Lower_Princes
America/Maceio America/Managua America/Manaus America/Marigot America/Martinique America/Matamoros
America/Mazatlan America/Mendoza America/Menominee America/Merida America/Metlakatla
America/Mexico_City America/Miquelon America/Moncton America/Monterrey America/Montevideo
America/Montreal America/Montserrat America/Nassau America/New_York America/Nipigon America/Nome
America/Noronha America/North_Dakota/Beulah America/North_Dakota/Center
America/North_Dakota/New_Salem America/Nuuk America/Ojinaga America/Panama America/Pangnirtung
America/Paramaribo America/Phoenix America/Port-au-Prince America/Port_of_Spain America/Porto_Acre
America/Porto_Velho America/Puerto_Rico America/Punta_Arenas America/Rainy_River
America/Rankin_Inlet America/Recife America/Regina America/Resolute America/Rio_Branco
America/Rosario America/Santa_Isabel America/Santarem America/Santiago America/Santo_Domingo
America/Sao_Paulo America/Scoresbysund America/Shiprock America/Sitka America/St_Barthelemy
America/St_Johns America/St_Kitts America/St_Lucia America/St_Thomas America/St_Vincent
America/Swift_Current America/Tegucigalpa America/Thule America/Thunder_Bay America/Tijuana
America/Toronto America/Tortola America/Vancouver America/Virgin America/Whitehorse America/Winnipeg
America/Yakutat America/Yellowknife Antarctica/Casey Antarctica/Davis Antarctica/DumontDUrville
Antarctica/Macquarie Antarctica/Mawson Antarctica/McMurdo Antarctica/Palmer Antarctica/Rothera
Antarctica/South_Pole Antarctica/Syowa Antarctica/Troll Antarctica/Vostok Arctic/Longyearbyen
Asia/Aden Asia/Almaty Asia/Amman Asia/Anadyr Asia/Aqtau Asia/Aqtobe Asia/Ashgabat Asia/Ashkhabad
Asia/Atyrau Asia/Baghdad Asia/Bahrain Asia/Baku Asia/Bangkok Asia/Barnaul Asia/Beirut Asia/Bishkek
Asia/Brunei Asia/Calcutta Asia/Chita Asia/Choibalsan Asia/Chongqing Asia/Chungking Asia/Colombo
Asia/Dacca Asia/Damascus Asia/Dhaka Asia/Dili Asia/Dubai Asia/Dushanbe Asia/Famagusta Asia/Gaza
Asia/Harbin Asia/Hebron Asia/Ho_Chi_Minh Asia/Hong_Kong Asia/Hovd Asia/Irkutsk Asia/Istanbul
Asia/Jakarta Asia/Jayapura Asia/Jerusalem Asia/Kabul Asia/Kamchatka Asia/Karachi Asia/Kashgar
Asia/Kathmandu Asia/Katmandu Asia/Khandyga Asia/Kolkata Asia/Krasnoyarsk Asia/Kuala_Lumpur
Asia/Kuching Asia/Kuwait Asia/Macao Asia/Macau Asia/Magadan Asia/Makassar Asia/Manila Asia/Muscat
Asia/Nicosia Asia/Novokuznetsk Asia/Novosibirsk Asia/Omsk Asia/Oral Asia/Phnom_Penh Asia/Pontianak
Asia/Pyongyang Asia/Qatar Asia/Qostanay Asia/Qyzylorda Asia/Rangoon Asia/Riyadh Asia/Saigon
Asia/Sakhalin Asia/Samarkand Asia/Seoul Asia/Shanghai Asia/Singapore Asia/Srednekolymsk Asia/Taipei
Asia/Tashkent Asia/Tbilisi Asia/Tehran Asia/Tel_Aviv Asia/Thimbu Asia/Thimphu Asia/Tokyo Asia/Tomsk
Asia/Ujung_Pandang Asia/Ulaanbaatar Asia/Ulan_Bator Asia/Urumqi Asia/Ust-Nera Asia/Vientiane
Asia/Vladivostok Asia/Yakutsk Asia/Yangon Asia/Yekaterinburg Asia/Yerevan Atlantic/Azores
Atlantic/Bermuda Atlantic/Canary Atlantic/Cape_Verde Atlantic/Faeroe Atlantic/Faroe
Atlantic/Jan_Mayen Atlantic/Madeira Atlantic/Reykjavik Atlantic/South_Georgia Atlantic/St_Helena
Atlantic/Stanley Australia/ACT Australia/Adelaide Australia/Brisbane Australia/Broken_Hill
Australia/Canberra Australia/Currie Australia/Darwin Australia/Eucla Australia/Hobart Australia/LHI
Australia/Lindeman Australia/Lord_Howe Australia/Melbourne Australia/NSW Australia/North
Australia/Perth Australia/Queensland Australia/South Australia/Sydney Australia/Tasmania
Australia/Victoria Australia/West Australia/Yancowinna Brazil/Acre Brazil/DeNoronha Brazil/East
Brazil/West CET CST6CDT Canada/Atlantic Canada/Central Canada/Eastern Canada/Mountain
Canada/Newfoundland Canada/Pacific Canada/Saskatchewan Canada/Yukon Chile/Continental
Chile/EasterIsland Cuba EET EST EST5EDT Egypt Eire Etc/GMT Etc/GMT+0 Etc/GMT+1 Etc/GMT+10 Etc/GMT+11
Etc/GMT+12 Etc/GMT+2 Etc/GMT+3 Etc/GMT+4 Etc/GMT+5 Etc/GMT+6 Etc/GMT+7 Etc/GMT+8 Etc/GMT+9 Etc/GMT-0
Etc/GMT-1 Etc/GMT-10 Etc/GMT-11 Etc/GMT-12 Etc/GMT-13 Etc/GMT-14 Etc/GMT-2 Etc/GMT-3 Etc/GMT-4
Etc/GMT-5 Etc/GMT-6 Etc/GMT-7 Etc/GMT-8 Etc/GMT-9 Etc/GMT0 Etc/Greenwich Etc/UCT Etc/UTC
Etc/Universal Etc/Zulu Europe/Amsterdam Europe/Andorra Europe/Astrakhan Europe/Athens Europe/Belfast
Europe/Belgrade Europe/Berlin Europe/Bratislava Europe/Brussels Europe/Bucharest Europe/Budapest
Europe/Busingen Europe/Chisinau Europe/Copenhagen Europe/Dublin Europe/Gibraltar Europe/Guernsey
Europe/Helsinki Europe/Isle_of_Man Europe/Istanbul Europe/Jersey Europe/Kaliningrad Europe/Kiev
Europe/Kirov Europe/Kyiv Europe/Lisbon Europe/Ljubljana Europe/London Europe/Luxembourg
Europe/Madrid Europe/Malta Europe/Mariehamn Europe/Minsk Europe/Monaco Europe/Moscow Europe/Nicosia
Europe/Oslo Europe/Paris Europe/Podgorica Europe/Prague Europe/Riga Europe/Rome Europe/Samara
Europe/San_Marino Europe/Sarajevo Europe/Saratov Europe/Simferopol Europe/Skopje Europe/Sofia
Europe/Stockholm Europe/Tallinn Europe/Tirane Europe/Tiraspol Europe/Ulyanovsk Europe/Uzhgorod
Europe/Vaduz Europe/Vatican Europe/Vienna Europe/Vilnius Europe/Volgograd Europe/Warsaw
Europe/Zagreb Europe/Zaporozhye Europe/Zurich GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong
Iceland Indian/Antananarivo Indian/Chagos Indian/Christmas Indian/Cocos Indian/Comoro
Indian/Kerguelen Indian/Mahe Indian/Maldives Indian/Mauritius Indian/Mayotte Indian/Reunion Iran
Israel Jamaica Japan Kwajalein Libya MET MST MST7MDT Mexico/BajaNorte Mexico/BajaSur Mexico/General
NZ NZ-CHAT Navajo PRC PST8PDT Pacific/Apia Pacific/Auckland Pacific/Bougainville Pacific/Chatham
Pacific/Chuuk Pacific/Easter Pacific/Efate Pacific/Enderbury Pacific/Fakaofo Pacific/Fiji
Pacific/Funafuti Pacific/Galapagos Pacific/Gambier Pacific/Guadalcanal Pacific/Guam Pacific/Honolulu
Pacific/Johnston Pacific/Kanton Pacific/Kiritimati Pacific/Kosrae Pacific/Kwajalein Pacific/Majuro
Pacific/Marquesas Pacific/Midway Pacific/Nauru Pacific/Niue Pacific/Norfolk Pacific/Noumea
Pacific/Pago_Pago Pacific/Palau Pacific/Pitcairn Pacific/Pohnpei Pacific/Ponape Pacific/Port_Moresby
Pacific/Rarotonga Pacific/Saipan Pacific/Samoa Pacific/Tahiti Pacific/Tarawa Pacific/Tongatapu
Pacific/Truk Pacific/Wake Pacific/Wallis Pacific/Yap Poland Portugal ROC ROK Singapore Turkey UCT
US/Alaska US/Aleutian US/Arizona US/Central US/East-Indiana US/Eastern US/Hawaii US/Indiana-Starke
US/Michigan US/Mountain US/Pacific US/Samoa UTC Universal W-SU WET Zulu
`
  .trim()
  .split(/\s/)

// Time zones of reminders, and their clocks. `Intl` also accepts abbreviations (`PST`) and bare
// offsets, and answers with its preferred names; so the tz database's names decide.
// `Intl` takes a microsecond to tell one offset, so the periods between clock changes are cached,
// by zone and quarter of a year. They are facts of the tz database and never change.

/** A zone or a link of the tz database, in the database's spelling. */
export type TimeZone = string & Brand.Brand<"TimeZone">

/**
 * The zone of that name, in any case; a link stays the link. Undefined for what is refused as
 * `invalid_timezone`, including names unknown to the runtime.
 */
export const parseTimeZone = (text: string): TimeZone | undefined => {
  // In lower case, some letters beyond ASCII become ASCII letters.
  const name = ascii.test(text) ? byLowerCase.get(text.toLowerCase()) : undefined
  return name !== undefined && isTimeZone(name) ? name : undefined
}

/**
 * A time (epoch milliseconds) in a zone, with its offset: `YYYY-MM-DDTHH:MM:SS±HH:MM`, truncated to
 * seconds. For years 0 to 9999 of that zone.
 */
export const formatInZone = (millis: number, timezone: TimeZone): string => {
  // Before 1972 some offsets had seconds, which the format cannot show.
  const offset = Math.trunc(periodAt(timezone, millis).offset / 60_000)
  return formatInstant(millis + offset * 60_000).replace("Z", formatOffset(offset))
}

/** Minutes ahead of UTC as `±HH:MM`. */
const formatOffset = (minutes: number): string => {
  const size = Math.abs(minutes)
  const sign = minutes < 0 ? "-" : "+"
  return `${sign}${twoDigits(Math.floor(size / 60))}:${twoDigits(size % 60)}`
}

/**
 * The first moment (epoch milliseconds) at which a zone's clocks show a time, given as UTC's moment
 * of showing it. A time that a clock change skips becomes the first moment after it.
 */
export const momentInZone = (localMillis: number, timezone: TimeZone): number => {
  // No clock is a day ahead of UTC, so the time is still to come in this period.
  let period = periodAt(timezone, localMillis - dayMillis)
  while (localMillis - period.offset >= period.end) period = periodAt(timezone, period.end)
  return Math.max(localMillis - period.offset, period.start)
}

const dayMillis = 86_400_000

const ascii = /^[\x20-\x7e]+$/

const byLowerCase: ReadonlyMap<string, string> = new Map(
  zoneNames.map((name) => [name.toLowerCase(), name]),
)

const isTimeZone = (name: string): name is TimeZone =>
  Result.isSuccess(Result.try(() => zoneClock(name)))

const twoDigits = (value: number): string => `${value}`.padStart(2, "0")

/** A period without a clock change; its neighbours may have the same offset. */
interface Period {
  /** Epoch milliseconds. */
  readonly start: number
  /** Epoch milliseconds, exclusive. */
  readonly end: number
  /** How far the clocks are ahead of UTC, in milliseconds. */
  readonly offset: number
}

/** The period that contains a moment. `Intl` must know the zone. */
const periodAt = (zone: string, millis: number): Period => {
  const clock = zoneClock(zone)
  const index = Math.floor(millis / quarterMillis)
  let periods = clock.quarters.get(index)
  if (periods === undefined) {
    periods = findPeriods(clock.formatter, index * quarterMillis)
    clock.quarters.set(index, periods)
  }
  let period = periods[0]
  for (const next of periods) {
    if (next.start > millis) break
    period = next
  }
  return period
}

interface ZoneClock {
  readonly formatter: Intl.DateTimeFormat
  readonly quarters: Map<number, Periods>
}

type Periods = readonly [Period, ...ReadonlyArray<Period>]

const clocks = new Map<string, ZoneClock>()

const zoneClock = (zone: string): ZoneClock => {
  const known = clocks.get(zone)
  if (known !== undefined) return known
  const formatter = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" })
  const clock: ZoneClock = { formatter, quarters: new Map() }
  clocks.set(zone, clock)
  return clock
}

// A zone's clock changes were never closer than 3.9 days (Freetown, 1939); since 1970, 6.9 days
// (Recife, 2000). So no two fall between two samples.
const sampleMillis = 3 * 86_400_000
const quarterMillis = 30 * sampleMillis

const findPeriods = (formatter: Intl.DateTimeFormat, quarterStart: number): Periods => {
  const quarterEnd = quarterStart + quarterMillis
  const periods: Array<Period> = []
  let start = quarterStart
  let offset = offsetAt(formatter, quarterStart)
  for (let sample = quarterStart; sample < quarterEnd; sample += sampleMillis) {
    // The next quarter owns its first moment.
    const last = Math.min(sample + sampleMillis, quarterEnd - 1)
    const next = offsetAt(formatter, last)
    if (next === offset) continue
    const change = changeBetween(formatter, sample, last, offset)
    periods.push({ start, end: change, offset })
    start = change
    offset = next
  }
  const rest: Period = { start, end: quarterEnd, offset }
  const [first, ...others] = [...periods, rest]
  return first === undefined ? [rest] : [first, ...others]
}

/** The first moment, after `before` and up to `after`, with another offset. */
const changeBetween = (
  formatter: Intl.DateTimeFormat,
  before: number,
  after: number,
  offset: number,
): number => {
  let low = before
  let high = after
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(formatter, middle) === offset) low = middle
    else high = middle
  }
  return high
}

// `1/1/1970, GMT-00:44:30`; offset zero may be just `GMT`.
const offsetForm = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/

const offsetAt = (formatter: Intl.DateTimeFormat, millis: number): number => {
  const [, sign, hours = "0", minutes = "0", seconds = "0"] =
    offsetForm.exec(formatter.format(millis)) ?? []
  const size = (Number(hours) * 60 + Number(minutes)) * 60_000 + Number(seconds) * 1000
  return sign === "-" ? -size : size
}

/**
 * A pattern that runs at some time. Wall times are what a wall clock shows, in milliseconds as if
 * in UTC.
 */
export interface Cron {
  /** As given. */
  readonly text: string
  /**
   * Whether it runs hourly or more often: its hour field names all 24 hours, as `*` and `0-23` do.
   * Others (`2`, `9-17`) name fixed times.
   */
  readonly everyHour: boolean
  /** The first wall time of the pattern later than `wall`; `undefined` past the year 9999. */
  readonly wallTimeAfter: (wall: number) => number | undefined
}

/** What is wrong with a pattern; a field's name when it is unreadable or out of range. */
export type CronProblem = "too_long" | "not_five_fields" | FieldName | "never_runs"

/**
 * Parses five fields with single spaces, each a list of `*`, `3` and `1-5`. Star and range may have
 * a step (`1-30/5`). Months and weekdays may be names in any case; Sunday is 0, 7 or `sun`, also as
 * the end of a range (`fri-sun`). If day of month and weekday are both given, either fires.
 * Failures are refused as `invalid_cron`.
 */
export const parseCron = (text: string): Result.Result<Cron, CronProblem> => {
  if (text.length > longestText) return Result.fail("too_long")
  const [minuteText, hourText, dayText, monthText, weekdayText, ...more] = text.split(" ")
  if (
    minuteText === undefined ||
    hourText === undefined ||
    dayText === undefined ||
    monthText === undefined ||
    weekdayText === undefined ||
    more.length > 0
  ) {
    return Result.fail("not_five_fields")
  }
  return Result.gen(function* () {
    const minutes = yield* parseField(minuteText, minuteField)
    const hours = yield* parseField(hourText, hourField)
    const days = yield* parseField(dayText, dayField)
    const months = yield* parseField(monthText, monthField)
    const weekdays = yield* parseField(weekdayText, weekdayField)
    const earliestDay = days[0] ?? 1
    const comes = weekdayText !== "*" || months.some((month) => earliestDay <= daysIn(month))
    if (!comes) return yield* Result.fail<CronProblem>("never_runs")
    const dayPattern = [
      dayText === "*" ? "*" : days.join(","),
      monthText === "*" ? "*" : months.join(","),
      weekdayText === "*" ? "*" : weekdays.join(","),
    ].join(" ")
    return {
      text,
      everyHour: hours.length === 24,
      wallTimeAfter: wallTimes(
        hours.flatMap((hour) => minutes.map((minute) => (hour * 60 + minute) * minuteMillis)),
        dayPattern === "* * *" ? (day) => day : matchingDays(dayPattern),
      ),
    }
  })
}

type FieldName = "minute" | "hour" | "day_of_month" | "month" | "day_of_week"

interface Field {
  readonly name: FieldName
  readonly first: number
  /** The last value of `*`. */
  readonly last: number
  /** Names of the values from `first` on. */
  readonly names?: ReadonlyArray<string>
  /** A second notation of `first`, after `last`. */
  readonly alias?: number
}

const minuteField: Field = { name: "minute", first: 0, last: 59 }
const hourField: Field = { name: "hour", first: 0, last: 23 }
const dayField: Field = { name: "day_of_month", first: 1, last: 31 }
const monthField: Field = {
  name: "month",
  first: 1,
  last: 12,
  names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
}
const weekdayField: Field = {
  name: "day_of_week",
  first: 0,
  last: 6,
  names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
  alias: 7,
}

/** Twice the length of a pattern that writes out every value of every field. */
const longestText = 1000

const minuteMillis = 60_000

/** 1 January of the year 10000. */
const endDay = 2_932_897

const itemForm = /^(?:\*|([0-9]+|[a-z]{3})(?:-([0-9]+|[a-z]{3}))?)(?:\/([0-9]+))?$/i

/** The values that a field names, in ascending order. */
const parseField = (
  text: string,
  field: Field,
): Result.Result<ReadonlyArray<number>, CronProblem> => {
  const values = new Set<number>()
  for (const item of text.split(",")) {
    const range = parseItem(item, field)
    if (range === undefined) return Result.fail(field.name)
    for (let value = range.from; value <= range.to; value += range.step) {
      values.add(value === field.alias ? field.first : value)
    }
  }
  return Result.succeed([...values].toSorted((a, b) => a - b))
}

interface Range {
  readonly from: number
  readonly to: number
  readonly step: number
}

const parseItem = (item: string, field: Field): Range | undefined => {
  const match = itemForm.exec(item)
  if (match === null) return undefined
  const [, fromText, toText, stepText] = match
  const step = stepText === undefined ? 1 : Number(stepText)
  if (step === 0) return undefined
  if (fromText === undefined) return { from: field.first, to: field.last, step }
  // Programs disagree on `5/15`: 5 alone, or 5-59/15.
  if (toText === undefined && stepText !== undefined) return undefined
  const from = parseValue(fromText, field)
  const to = toText === undefined ? from : parseRangeEnd(toText, field, from)
  if (from === undefined || to === undefined || from > to) return undefined
  return { from, to, step }
}

/**
 * A name can end a range by its alias, as in `mon-sun`, if the range starts after the first value.
 */
const parseRangeEnd = (
  text: string,
  field: Field,
  from: number | undefined,
): number | undefined => {
  const to = parseValue(text, field)
  const isNamedFirst = to === field.first && !/^[0-9]/.test(text)
  return isNamedFirst && from !== field.first ? (field.alias ?? to) : to
}

const parseValue = (text: string, field: Field): number | undefined => {
  const index = field.names?.indexOf(text.toLowerCase()) ?? -1
  const value = index === -1 ? Number(text) : field.first + index
  return value >= field.first && value <= (field.alias ?? field.last) ? value : undefined
}

/** In the longest year. */
const daysIn = (month: number): number => {
  if (month === 2) return 29
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/** Days are counted since 1970. */
type FirstDayFrom = (day: number) => number

/** Matches days by the day of month, month and weekday fields. */
const matchingDays = (dayPattern: string): FirstDayFrom => {
  const expression = CronExpressionParser.parse(`0 0 ${dayPattern}`, { tz: "UTC" })
  // A caller continues from the last answer, or repeats the days before it.
  let lastDay = 0
  let answer = -1
  return (day) => {
    if (day < lastDay || day > answer) {
      expression.reset(new CronDate(day * dayMillis - 1000, "UTC"))
      lastDay = day
      answer = Math.floor(expression.next().getTime() / dayMillis)
    }
    return answer
  }
}

/** Combines ascending times of day with days. */
const wallTimes =
  (times: ReadonlyArray<number>, firstDayFrom: FirstDayFrom) =>
  (wall: number): number | undefined => {
    const today = Math.floor(wall / dayMillis)
    if (today >= endDay) return undefined
    const time = times.find((candidate) => candidate > wall - today * dayMillis)
    const day = firstDayFrom(time === undefined ? today + 1 : today)
    if (day >= endDay) return undefined
    return day * dayMillis + ((day === today ? time : times[0]) ?? 0)
  }

// Runs of a reminder: its pattern on its zone's clocks. `cron-parser` mishandles clock changes:
// after a gap it runs once per skipped minute, it loses runs in half-hour gaps (Lord Howe), and of
// a repeated time it takes the second.
// Two rules instead. Hourly and more frequent patterns run whenever the clocks show one of their
// wall times. Any other pattern runs once for each wall time, when the clocks first show or pass
// it. Skipped times thus run together at the end of the gap.

export interface ReminderSchedule {
  readonly cron: Cron
  readonly timezone: TimeZone
}

/** The first run later than `after` (epoch milliseconds); `null` past the zone's year 9999. */
export const nextRunAfter = (schedule: ReminderSchedule, after: number): number | null => {
  if (after >= lastMillis) return null
  return schedule.cron.everyHour ? nextShown(schedule, after) : nextReached(schedule, after)
}

/**
 * The last run after `from` and up to `to` (epoch milliseconds), the missed run to make up; `null`
 * for none.
 */
export const latestRunIn = (
  schedule: ReminderSchedule,
  from: number,
  to: number,
): number | null => {
  const first = nextRunAfter(schedule, from)
  if (first === null || first > to) return null
  let latest = first
  // No run up to `to` is later than `end`. Bisection avoids walking every minute of a long time.
  let end = to
  while (latest < end) {
    const middle = Math.floor((latest + end) / 2)
    const run = nextRunAfter(schedule, middle)
    if (run !== null && run <= end) latest = run
    else end = middle
  }
  return latest
}

/** A run of a preview. */
export interface PreviewedRun {
  /** Epoch milliseconds. */
  readonly at: number
  /** The zone's clocks, with their offset: `YYYY-MM-DDTHH:MM:SS±HH:MM`. */
  readonly local: string
  /**
   * `moved`: its wall time is skipped, so it runs at the end of the gap. `repeated`: the clocks show
   * its wall time for the second time.
   */
  readonly mark: "moved" | "repeated" | null
}

/** A clock change within a preview; offsets are `±HH:MM`. */
export interface ClockChange {
  /** Epoch milliseconds. */
  readonly at: number
  readonly from: string
  readonly to: string
}

export interface SchedulePreview {
  readonly runs: ReadonlyArray<PreviewedRun>
  /** Wall times of the pattern that have no run of their own, as `YYYY-MM-DDTHH:MM`. */
  readonly skipped: ReadonlyArray<string>
  readonly clockChanges: ReadonlyArray<ClockChange>
}

/** Clock changes are listed up to this time after the start: no page shows more. */
const previewedMillis = 5 * 366 * dayMillis

/** The runs after `after`, at most `count`, with what clock changes do to them until the last one. */
export const previewRuns = (
  schedule: ReminderSchedule,
  after: number,
  count: number,
): SchedulePreview => {
  const { cron, timezone } = schedule
  const runs: Array<PreviewedRun> = []
  for (
    let at = nextRunAfter(schedule, after);
    at !== null && runs.length < count;
    at = nextRunAfter(schedule, at)
  ) {
    runs.push({ at, local: formatInZone(at, timezone), mark: toMark(schedule, at) })
  }
  const end = Math.min(runs.at(-1)?.at ?? after, after + previewedMillis)
  const clockChanges: Array<ClockChange> = []
  const skipped: Array<string> = []
  for (let period = periodAt(timezone, after); period.end <= end;) {
    const next = periodAt(timezone, period.end)
    if (next.offset !== period.offset) {
      clockChanges.push({
        at: next.start,
        from: formatOffset(Math.trunc(period.offset / minuteMillis)),
        to: formatOffset(Math.trunc(next.offset / minuteMillis)),
      })
      // A moved run replaces the first of the times that it gathers.
      const hasMoved = runs.some(({ at, mark }) => at === next.start && mark === "moved")
      const walls = wallTimesIn(cron, next.start + period.offset, next.start + next.offset)
      skipped.push(...walls.slice(hasMoved ? 1 : 0).map(formatWall))
    }
    period = next
  }
  return { runs, skipped, clockChanges }
}

const formatWall = (wall: number): string => formatInstant(wall).slice(0, "YYYY-MM-DDTHH:MM".length)

const toMark = ({ cron, timezone }: ReminderSchedule, at: number): PreviewedRun["mark"] => {
  const period = periodAt(timezone, at)
  const wall = at + period.offset
  if (cron.wallTimeAfter(wall - 1) !== wall) return "moved"
  return cron.everyHour && reachedBy(timezone, period.start - 1) >= wall ? "repeated" : null
}

/** Ascending wall times of the pattern from `from` up to `to`, exclusive. */
const wallTimesIn = (cron: Cron, from: number, to: number): ReadonlyArray<number> => {
  const walls: Array<number> = []
  for (
    let wall = cron.wallTimeAfter(from - 1);
    wall !== undefined && wall < to;
    wall = cron.wallTimeAfter(wall)
  ) {
    walls.push(wall)
  }
  return walls
}

/** The first moment later than `after` at which the clocks show a wall time of the pattern. */
const nextShown = ({ cron, timezone }: ReminderSchedule, after: number): number | null => {
  let instant = after + 1
  while (true) {
    const period = periodAt(timezone, instant)
    const wall = cron.wallTimeAfter(instant + period.offset - 1)
    if (wall === undefined) return null
    const run = wall - period.offset
    if (run < period.end) return run
    instant = period.end
  }
}

/**
 * The first moment later than `after` at which the clocks reach or skip a wall time of the pattern.
 */
const nextReached = ({ cron, timezone }: ReminderSchedule, after: number): number | null => {
  const wall = cron.wallTimeAfter(reachedBy(timezone, after))
  if (wall === undefined) return null
  // No clock is a day from UTC: none can have shown it more than a day before.
  let instant = Math.max(after + 1, wall - dayMillis)
  while (true) {
    const period = periodAt(timezone, instant)
    const run = Math.max(period.start, wall - period.offset)
    if (run < period.end) return run
    instant = period.end
  }
}

/** The latest wall time shown or skipped until then; clocks put back show less. */
const reachedBy = (timezone: TimeZone, millis: number): number => {
  let period = periodAt(timezone, millis)
  let reached = millis + period.offset
  while (period.start > millis - 2 * dayMillis) {
    period = periodAt(timezone, period.start - 1)
    reached = Math.max(reached, period.end - 1 + period.offset)
  }
  return reached
}

/** A day into the year 10000 in UTC, when the year 9999 is over in every zone. */
const lastMillis = 253_402_387_200_000
