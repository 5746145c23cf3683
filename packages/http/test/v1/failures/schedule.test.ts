/** Answers of `schedule_msg/` (contract: Version 1: sends). */
import { aText } from "../Asking.ts"
import { says } from "./Cases.ts"
import { contentCases, phoneCases } from "./SendCases.ts"

const later = { date: "31/12/2099", time: "23:59" }

says("version 1 refuses a scheduled send", [
  ...phoneCases("schedule_msg/").map((one) => ({ ...one, fields: { ...later, ...one.fields } })),
  ...contentCases("schedule_msg/", { country_code: "1", phone: "5550001234", ...later }),
  ...[null, "", "2099-12-31", "12/31/2099", "30/02/2099", "1/1/2099", "00/01/2099"].map((date) => ({
    operation: "schedule_msg/",
    fields: { ...aText, ...later, date },
    message: "Invalid date",
  })),
  ...[null, "", "24:00", "12:60", "9:00", "noon", "12:00:00"].map((time) => ({
    operation: "schedule_msg/",
    fields: { ...aText, ...later, time },
    message: "Invalid time",
  })),
  ...["PST", "+02:00", "Europe/Nowhere"].map((timezone) => ({
    operation: "schedule_msg/",
    fields: { ...aText, ...later, timezone },
    message: "Invalid timezone",
  })),
  {
    operation: "schedule_msg/",
    fields: { ...aText, date: "31/12/1969", time: "23:59" },
    message: "Schedule time is in the past",
  },
  {
    operation: "schedule_msg/",
    fields: { ...aText, date: "01/01/1970", time: "00:00" },
    message: "Schedule time is in the past",
  },
  {
    operation: "schedule_msg/",
    // Before midnight of UTC.
    fields: { ...aText, date: "01/01/1970", time: "00:30", timezone: "Europe/Berlin" },
    message: "Schedule time is in the past",
  },
])
