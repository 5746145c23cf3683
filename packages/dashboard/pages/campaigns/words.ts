/** The words of campaigns. */
import type { Campaign, CampaignForecast, CampaignRow } from "@messaging-service/client"
import { failureLabels } from "../messages/words.ts"
import { buttonNames } from "../ui/words.ts"
import type { CampaignState, RowStatus } from "./campaignSearch.ts"

const messages = (count: number): string =>
  count === 1 ? "1 message" : `${count.toLocaleString()} messages`

export const stateLabels: Readonly<Record<CampaignState, string>> = {
  draft: "draft",
  scheduled: "scheduled",
  running: "running",
  paused: "paused",
  done: "done",
  stopped: "stopped",
}

type Reason = NonNullable<Campaign["state_reason"]>

/** Why it is paused, next to the state's word in a list. */
export const shortReasons: Readonly<Record<Reason, string>> = {
  requested: "by a user",
  number_restricted: "a number is restricted",
  no_numbers: "no numbers left",
  restored: "after a restore",
}

export const campaignsLabels = {
  title: "Campaigns",
  about: "One text to many recipients, sent in the background.",
  add: buttonNames.newCampaign,
  caption: "Campaigns, newest first",
  name: "Name",
  state: "Status",
  progress: "Progress",
  when: "When",
  anyState: "Any status",
  mode: "Mode",
  modes: { live: "Live campaigns", test: "Test campaigns" },
  empty: "No campaigns yet",
  emptyTest: "No test campaigns yet",
  emptyAbout:
    "A campaign sends a text to every row of a file, within the limits of your numbers. You preview each message before any is sent.",
  nothingFound: "No matching campaigns",
  nothingFoundAbout: "Choose another filter.",
  noRows: "no rows yet",
  /** Before a time. */
  created: "created ",
  begins: "starts ",
  finishes: "done about ",
  ended: "ended ",
}

/** The parts of the progress. */
export const progressLabels = {
  sent: "sent",
  failed: "failed",
  waiting: "waiting",
  left: "left",
  out: "not sent",
}

export const campaignLabels = {
  test: "Test campaign: accepted and reported, never sent.",
  edit: "Edit",
  start: "Start",
  pause: "Pause",
  pausedNow: "Paused. The remaining rows wait until you resume it.",
  resume: "Resume",
  stop: "Stop",
  remove: "Delete",
  progress: "Progress",
  settings: "Settings",
  text: "Text",
  media: "Attachment",
  mediaFile: (id: string | number) => `File ${id}`,
  from: "From",
  anyNumber: "any connected number",
  number: (id: number) => `number ${id}`,
  sendAt: "Starts",
  atStart: "when started",
  hours: "Hours",
  anyHours: "day and night",
  expires: "Expires",
  never: "never",
  reserve: "Reserved for others",
  reserveOf: (count: number) => `${count.toLocaleString()} of each number’s 1,000 in 24 hours`,
  countryCode: "Country code",
  none: "none",
  duplicates: "Repeated recipients",
  keep: "get one message per row",
  drop: "get one message",
  messages: "View messages",
}

const count = (value: number, one: string, many: string): string =>
  value === 1 ? `1 ${one}` : `${value.toLocaleString()} ${many}`

/** What a campaign does now. */
export const standingLabels = {
  draft: "Draft. Nothing is sent until you start it.",
  draftEmpty: "Draft without rows. Add a file to preview its messages.",
  running: "Sending.",
  done: "Done. No rows or messages are waiting.",
  stopped: "Stopped. The remaining rows are not sent.",
  /** Around a time. */
  scheduled: ["Starts ", " (", ")."],
  finishes: ["Expected to finish ", " (", ")."],
  until: ["Continues ", " (", ")."],
  also: "Also: ",
  toNumbers: "Go to numbers",
  forAdministrators: "Only owners and administrators can do this.",
}

export const pausedTexts: Readonly<Record<Reason, string>> = {
  requested: "A user paused it.",
  number_restricted:
    "The platform restricted or banned one of its numbers. The campaign does not continue from the others until you resume it.",
  no_numbers: "All of its numbers were deleted.",
  restored: "A backup was restored, so it is unknown which rows have been sent since.",
}

/** What ends the pause. */
export const pausedRemedies: Readonly<Record<Reason, string>> = {
  requested: "Resume it to continue where it stopped.",
  number_restricted: "Check that phone’s app first, then resume it.",
  no_numbers: "Edit it, choose other numbers, then resume it.",
  restored: "Resume it from the first row that was not sent.",
}

type Wait = NonNullable<Campaign["waits_for"]>[number]["reason"]

export const waitTexts: Readonly<Record<Wait, string>> = {
  disabled: "The workspace is disabled.",
  demo: "A demo workspace sends no campaigns.",
  scheduled: "Scheduled for later.",
  hours: "Outside its hours.",
  no_credits: "The plan has no messages left.",
  not_connected: "None of its numbers is connected.",
  number_paused: "Its numbers are paused.",
  quota: "Its numbers have used their 24-hour limit.",
  sending: "Waiting for its queued messages to be sent.",
}

/** What ends a wait that time does not end. */
export const waitRemedies: Readonly<Partial<Record<Wait, string>>> = {
  disabled: "It continues once the workspace is enabled again.",
  no_credits: "It continues once the plan has more.",
  not_connected: "It continues once you link or resume a number.",
  number_paused: "It continues once you resume a number.",
}

export const forecastLabels = {
  title: "Forecast",
  /** Around times. */
  starts: "Expected start: ",
  finishes: "Expected finish: ",
  unknown: "The finish time is unknown.",
  nothing: "No rows to send.",
  missing: (missing: number) =>
    `The plan is ${messages(missing)} short. The campaign waits there until the plan has more.`,
  noNumber: "No number can send now. The campaign waits for one.",
  caption: "Forecast per number",
  number: "Number",
  room: "24 h limit left",
  share: "Rows",
  notUsable: "not connected or paused",
  limits: (forecast: CampaignForecast) => {
    const room = forecast.numbers.reduce((sum, one) => sum + (one.usable ? one.room : 0), 0)
    return room < forecast.rows && room > 0
      ? `Its numbers have room for ${messages(room)} now. The others follow as their 24 hours pass.`
      : null
  },
}

export const checkLabels = {
  title: "Check",
  fine: "Rows to send",
  refused: "Rows left out",
  allowance: "Plan messages left",
  unlimited: "unlimited",
  mend: "Fix the file and upload it again, or start without these rows.",
  mendAll: "No row can be sent yet. Fix the text or the file, and upload the file again.",
  /** Phones without + are the usual reason. */
  countryCode:
    "For phones without +, edit the campaign, set the country code, then upload the file again.",
  upload: "Upload the file again",
  preview: "Preview",
  getPreview: (at: number, all: number) =>
    `Message ${at.toLocaleString()} of ${all.toLocaleString()}`,
  toWhom: (to: string) => `To ${to}`,
  previous: "Previous row",
  next: "Next row",
  noPreview: "No row can be sent yet.",
  sendMe: "Send me this message",
  sendMeTo: "Your phone",
  sendMeAbout:
    "Phone number with + and country code, or Telegram @username. It counts like any message.",
}

export const actionLabels = {
  startTitle: (name: string) => `Start ${name}?`,
  sends: (pending: number) => `Sends ${messages(pending)}`,
  from: (numbers: string) => ` from ${numbers}`,
  done: ", finishing about ",
  begins: (at: string) => `It starts ${at}.`,
  leftOut: (refused: number) => `${count(refused, "row is", "rows are")} left out.`,
  goesOn: "Sending continues when you close this page. You can pause or stop it.",
  resumeTitle: (name: string) => `Resume ${name}?`,
  resumeRestricted:
    "The remaining rows are sent from the connected numbers. The current restriction does not pause it again.",
  fromRowTitle: "Which row comes next?",
  fromRowAbout:
    "Rows sent after the backup look unsent. Find the last message of this campaign in the phone’s app, find its recipient’s row below, and enter the row after it.",
  fromRow: "First unsent row",
  fromRowHint: (first: number | undefined, total: number) =>
    first === undefined
      ? `A row from 1 to ${(total + 1).toLocaleString()}. Remaining rows before it are skipped.`
      : `In the restored store: row ${first.toLocaleString()}. Remaining rows before the one you enter are skipped; ${(total + 1).toLocaleString()} skips all.`,
  stopTitle: (name: string) => `Stop ${name}?`,
  stopAbout: (left: number, waiting: number) =>
    `${count(left, "remaining row is", "remaining rows are")} skipped, and ${count(waiting, "waiting message is", "waiting messages are")} cancelled. Sent messages are not affected. This cannot be undone.`,
  removeTitle: (name: string) => `Delete ${name}?`,
  removeAbout: (left: number, waiting: number) =>
    left + waiting === 0
      ? "Its rows and results are deleted. Messages it has sent are kept. This cannot be undone."
      : `It stops first: ${count(left, "remaining row is", "remaining rows are")} not sent, and ${count(waiting, "waiting message is", "waiting messages are")} cancelled. Its rows and results are deleted. Messages it has sent are kept. This cannot be undone.`,
  removeDraft: "The draft and its rows are deleted. It has sent nothing. This cannot be undone.",
}

export const rowsLabels = {
  title: "Rows",
  caption: "Rows of the campaign",
  row: "Row",
  line: (line: number) => `Line ${line.toLocaleString()}`,
  rowAndLine: (row: number, line: number | null) =>
    `Row ${row.toLocaleString()}${line === null ? "" : `, line ${line.toLocaleString()}`}`,
  to: "To",
  status: "Status",
  what: "Text or error",
  message: "Message",
  open: (id: number) => `Message ${id}`,
  show: "Show",
  all: "All rows",
  code: "Error",
  anyCode: "Any error",
  find: "Search by phone",
  findExample: "+15550001234",
  search: "Search",
  empty: "No matching rows",
  emptyAbout: "Choose another filter.",
  noRows: "No rows yet",
  noRowsAbout: "Add rows from a file to preview their messages.",
  erased: "erased",
  contact: (id: number) => `Contact ${id}`,
  download: "Download as CSV",
}

export const rowStatusLabels: Readonly<Record<RowStatus, string>> = {
  pending: "to send",
  refused: "left out",
  skipped: "skipped",
  queued: "queued",
  sent: "sent",
  delivered: "delivered",
  read: "read",
  failed: "failed",
  cancelled: "cancelled",
  expired: "expired",
}

type Problem = NonNullable<CampaignRow["error"]>

/** The column that a field such as `values.name` means. */
const toColumn = ({ field }: Problem): string => field?.replace(/^values\./, "") ?? ""

/** Codes in plain words; the service's own for others. */
export const problemTexts: Readonly<Record<string, (problem: Problem, to: string) => string>> = {
  placeholder_empty: (problem) => `No value in the column ${toColumn(problem)}`,
  invalid_phone: (_, to) =>
    to === "" ? "No phone number" : `“${to}” is not a phone number with + and country code`,
  invalid_username: (_, to) => `“${to}” is not a username`,
  duplicate_recipient: ({ row }) =>
    row === null ? "An earlier row has this recipient" : `Row ${row} has the same recipient`,
  text_required: () => "The text is blank",
  text_too_long: () => "The text has more than 3,000 characters",
  invalid_datetime: (problem) =>
    `${toColumn(problem)} is not a time such as 2026-12-01T09:00, or the campaign has no time zone`,
  time_in_past: (problem) => `${toColumn(problem)} has passed`,
  validation_failed: (problem) =>
    problem.field === "expires_at" ? "expires_at is not after send_at" : problem.message,
  restored: () => "It may have been sent before the restore",
  stopped: () => "The campaign was stopped first",
}

export const problemNames: Readonly<Record<string, string>> = {
  ...failureLabels,
  placeholder_empty: "A value is missing",
  invalid_phone: "Not a phone number",
  invalid_username: "Not a username",
  duplicate_recipient: "Repeated recipient",
  text_required: "No text",
  text_too_long: "Text too long",
  invalid_datetime: "Not a time",
  time_in_past: "Time has passed",
  contact_not_found: "Contact not found",
  username_needs_telegram: "Needs Telegram",
  media_not_found: "Attachment deleted",
  restored: "Skipped after a restore",
  stopped: "Skipped by a stop",
}
