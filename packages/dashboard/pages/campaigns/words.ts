/** The words of campaigns. */
import type { Campaign, CampaignForecast, CampaignRow } from "@messaging-service/client"
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
  no_numbers: "no number is left",
  restored: "the store was restored",
}

export const campaignsLabels = {
  title: "Campaigns",
  about: "One text for many recipients. The service sends it by itself.",
  add: buttonNames.newCampaign,
  caption: "Campaigns, the newest first",
  name: "Name",
  state: "State",
  progress: "Progress",
  when: "When",
  anyState: "Every state",
  mode: "Mode",
  modes: { live: "Live campaigns", test: "Test campaigns" },
  empty: "No campaign yet",
  emptyTest: "No test campaign yet",
  emptyAbout:
    "A campaign sends a text to every row of a file, at the pace and within the limits of your numbers. You see each message before any is sent.",
  nothingFound: "No campaign is in that state",
  nothingFoundAbout: "Another choice shows more.",
  noRows: "no rows yet",
  /** Before a time. */
  created: "created ",
  begins: "begins ",
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
  test: "A test campaign: everything is checked and reported, and nothing reaches a phone.",
  edit: "Edit",
  start: "Start",
  pause: "Pause",
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
  sendAt: "Begins",
  atStart: "when it is started",
  hours: "Hours",
  anyHours: "day and night",
  expires: "Expires",
  never: "never",
  reserve: "Left to others",
  reserveOf: (count: number) => `${count.toLocaleString()} of each number’s 1,000 in 24 hours`,
  countryCode: "Country code",
  none: "none",
  duplicates: "Repeated recipients",
  keep: "get a message for each row",
  drop: "get one message",
  messages: "Show its messages",
}

const count = (value: number, one: string, many: string): string =>
  value === 1 ? `1 ${one}` : `${value.toLocaleString()} ${many}`

/** What a campaign does now. */
export const standingLabels = {
  draft: "A draft. Nothing is sent before you start it.",
  draftEmpty: "A draft without rows. Add a file to see what it would send.",
  running: "It is sending.",
  done: "It is done: no row is left, and no message waits.",
  stopped: "It was stopped. What was left is not sent.",
  /** Around a time. */
  scheduled: ["It begins ", ", at ", "."],
  finishes: ["It will be done about ", ", ", "."],
  until: ["That ends ", ", at ", "."],
  also: "Also: ",
  toNumbers: "Go to the numbers",
  forAdministrators: "Owners and administrators of this workspace can do that.",
}

export const pausedTexts: Readonly<Record<Reason, string>> = {
  requested: "A user paused it.",
  number_restricted:
    "The platform restricted or banned a number that it uses, so it paused by itself. The same text does not go on from the next number until you say so.",
  no_numbers: "All numbers that it may use were removed.",
  restored:
    "The service’s store was restored from a backup, so that it is unknown which rows had been sent since.",
}

/** What ends the pause. */
export const pausedRemedies: Readonly<Record<Reason, string>> = {
  requested: "Resume it: it goes on where it was.",
  number_restricted: "Look into that phone’s app first. Then resume it.",
  no_numbers: "Edit it and choose other numbers, then resume it.",
  restored: "Resume it, and say which row is the first that had not been sent.",
}

type Wait = NonNullable<Campaign["waits_for"]>[number]["reason"]

export const waitTexts: Readonly<Record<Wait, string>> = {
  disabled: "The workspace is disabled.",
  demo: "A demo workspace sends no campaigns.",
  scheduled: "Its time has not come.",
  hours: "It is outside of its hours.",
  no_credits: "The plan has no messages left.",
  not_connected: "None of its numbers is connected.",
  number_paused: "Its numbers are paused.",
  quota: "Its numbers have sent what they may in 24 hours.",
  sending: "Enough of its messages wait in the queues of its numbers.",
}

/** What ends a wait that time does not end. */
export const waitRemedies: Readonly<Partial<Record<Wait, string>>> = {
  disabled: "It goes on once the workspace is enabled again.",
  no_credits: "It goes on once the plan has more.",
  not_connected: "Link or resume a number: it goes on by itself.",
  number_paused: "Resume a number: it goes on by itself.",
}

export const forecastLabels = {
  title: "Forecast",
  /** Around times. */
  starts: "It would begin about ",
  finishes: "It would be done about ",
  unknown: "When it would be done is unknown.",
  nothing: "It has nothing to send.",
  missing: (missing: number) =>
    `The plan is ${messages(missing)} short: the campaign waits there until the plan has more.`,
  noNumber: "No number can send now: the campaign waits for one.",
  caption: "What each number would send",
  number: "Number",
  room: "Room (24 h)",
  share: "Its rows",
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
  allowance: "Left of the plan",
  unlimited: "unlimited",
  mend: "Mend the file and upload it again, or start without these rows.",
  mendAll: "No row can be sent yet. Correct the text or the file, and upload the file again.",
  /** Phones without + are the usual reason. */
  countryCode:
    "For phones without +, edit the campaign and give the country code, then upload the file again.",
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
  sendMeAbout: "With + and country code, or a Telegram username with @. It counts as any message.",
}

export const actionLabels = {
  startTitle: (name: string) => `Start ${name}?`,
  sends: (pending: number) => `Sends ${messages(pending)}`,
  from: (numbers: string) => ` from ${numbers}`,
  done: ", done about ",
  begins: (at: string) => `It begins ${at}.`,
  leftOut: (refused: number) => `${count(refused, "row is", "rows are")} left out.`,
  goesOn: "It goes on when this page is closed. You can pause and stop it.",
  resumeTitle: (name: string) => `Resume ${name}?`,
  resumeRestricted:
    "What is left goes on from the numbers that are connected. The restriction that is there now does not pause it again.",
  fromRowTitle: "Which row comes next?",
  fromRowAbout:
    "Rows that were sent after the backup look as if they had not been. Look into the phone’s app for the last message of this campaign that was sent, find its row below by the recipient, and give the row after it.",
  fromRow: "First row that was not sent",
  fromRowHint: (first: number | undefined, total: number) =>
    first === undefined
      ? `A row from 1 to ${(total + 1).toLocaleString()}. Rows left before it are skipped.`
      : `As the service has it now: row ${first.toLocaleString()}. Rows left before the one that you give are skipped; ${(total + 1).toLocaleString()} skips all.`,
  stopTitle: (name: string) => `Stop ${name}?`,
  stopAbout: (left: number, waiting: number) =>
    `For good: ${count(left, "row that is left is", "rows that are left are")} skipped, and ${count(waiting, "waiting message is", "waiting messages are")} cancelled. What was sent stays as it is.`,
  removeTitle: (name: string) => `Delete ${name}?`,
  removeAbout: (left: number, waiting: number) =>
    left + waiting === 0
      ? "Its rows and results are deleted with it. Messages that it sent stay."
      : `It stops first: ${count(left, "row that is left is", "rows that are left are")} not sent, and ${count(waiting, "waiting message is", "waiting messages are")} cancelled. Its rows and results are deleted with it. Messages that it sent stay.`,
  removeDraft: "The draft is deleted with its rows. It has sent nothing.",
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
  find: "Find a phone",
  findExample: "+15550001234",
  search: "Search",
  empty: "No row here",
  emptyAbout: "Another choice shows more.",
  noRows: "No row yet",
  noRowsAbout: "Add rows from a file to see what the campaign would send.",
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
    to === "" ? "No phone" : `“${to}” is no phone with + and country code`,
  invalid_username: (_, to) => `“${to}” is no username`,
  duplicate_recipient: ({ row }) =>
    row === null ? "An earlier row has this recipient" : `Row ${row} has the same recipient`,
  text_required: () => "The text is blank",
  text_too_long: () => "The text has more than 3,000 characters",
  invalid_datetime: (problem) =>
    `${toColumn(problem)} is no time such as 2026-12-01T09:00, or the campaign has no time zone`,
  time_in_past: (problem) => `${toColumn(problem)} has passed`,
  validation_failed: (problem) =>
    problem.field === "expires_at" ? "expires_at is not behind send_at" : problem.message,
  restored: () => "It may have been sent before the store was restored",
  stopped: () => "The campaign was stopped before",
}

export const problemNames: Readonly<Record<string, string>> = {
  placeholder_empty: "A value is missing",
  invalid_phone: "Not a phone",
  invalid_username: "Not a username",
  duplicate_recipient: "Repeated recipient",
  text_required: "No text",
  text_too_long: "Text too long",
  invalid_datetime: "Not a time",
  time_in_past: "Time has passed",
  recipient_not_found: "Recipient not registered",
  contact_not_found: "No such contact",
  group_not_found: "No such group",
  username_needs_telegram: "Needs Telegram",
  media_not_found: "Attachment deleted",
  media_unavailable: "File not available",
  send_failed: "Refused by the platform",
  outcome_unknown: "Outcome unknown",
  restored: "Skipped after a restore",
  stopped: "Skipped by a stop",
}
