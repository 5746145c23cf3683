/** The words of sending from a file. */
import type { RowProblemCode } from "./plan.ts"
import type { SheetProblem } from "./sheet.ts"

const rows = (count: number): string => (count === 1 ? "1 row" : `${count.toLocaleString()} rows`)
const messages = (count: number): string =>
  count === 1 ? "1 message" : `${count.toLocaleString()} messages`

export const fileLabels = {
  title: "From a file",
  about: "One message for each row of a CSV file.",
  choose: "CSV file",
  chooseAbout:
    "Up to 10,000 rows, separated by commas, semicolons or tabs. The first row may name the columns: phone, text, send_at, expires_at, and any others.",
  another: "Another file",
  chosen: (name: string, count: number) => `${name} · ${rows(count)}`,
  wrongFile: "This file cannot be sent",
  to: "Recipients are in the column",
  template: "Text",
  templateAbout: "A name in braces stands for the row’s own cell in that column:",
  noColumn: (name: string) => `The file has no column ${name}.`,
  once: (count: number) => `Leave out ${rows(count)} whose recipient has an earlier row`,
  onceAbout: (count: number, lines: string) => `${count === 1 ? "Line" : "Lines"} ${lines}`,
  notWithErrors: "A file with errors is not sent: correct it, or leave out these rows.",
  leaveOut: (count: number) => `Leave out ${rows(count)} with errors`,
  preview: "Preview",
  getPreview: (at: number, all: number) =>
    `Message ${at.toLocaleString()} of ${all.toLocaleString()}`,
  previous: "Previous row",
  next: "Next row",
  toWhom: (to: string) => `To ${to}`,
  nothing: "No row can be sent as it is.",
  check: "Check",
  good: "Messages",
  wrong: "Rows with errors",
  repeated: "Repeated recipients",
  allowance: "Left of the allowance",
  unlimited: "unlimited",
  allowanceShort: (left: number) =>
    `The plan has ${messages(left)} left: the service accepts no more than these.`,
  quota: "Left of the quota today",
  quotaShort: (limit: number) =>
    `A number sends at most ${messages(limit)} in 24 hours. Sending stops there, and goes on when you choose this file again.`,
  problems: "Rows with errors, by line",
  line: "Line",
  column: "Column",
  what: "What is wrong",
  sameProblem: (count: number, message: string) => `${rows(count)}: ${message}`,
  more: (count: number) => `and ${rows(count)} more`,
  send: (count: number) => `Send ${messages(count)}`,
  goOn: (count: number) => `Send the other ${messages(count)}`,
  keeps:
    "Sending goes on while you open other pages here. Once this tab is closed, choose the same file with the same text and settings, and sending goes on where it stopped: for 30 days in this browser, for 24 hours in any other. Nothing is lost or sent twice.",
  begun: (accepted: number) =>
    `This browser began to send this file: the service has accepted ${messages(accepted)} of it. Sending goes on with the rest.`,
  wasSent: (accepted: number) =>
    `This browser sent this file already: the service has accepted ${messages(accepted)} of it.`,
  otherSettings: (accepted: number) =>
    `This browser sent this file with another text or other settings: the service has accepted ${messages(accepted)} of it.`,
  again: "Send all of it in addition",
  unknown: (line: number) =>
    `Sending broke off at line ${line.toLocaleString()} more than 23 hours ago. The service no longer knows whether it accepted that request: look for its recipients in Messages.`,
  sendUnknown: "Send the rows of that request once more",
}

export const sendingLabels = {
  title: "Sending",
  allAccepted: "Accepted",
  progress: "Rows that the service has answered",
  of: (done: number, all: number) => `${done.toLocaleString()} of ${all.toLocaleString()}`,
  accepted: (count: number) => `The service accepted ${messages(count)}.`,
  before: (count: number) =>
    `${rows(count)} had been accepted before, with other rows of their request left out. They were not sent twice.`,
  refused: (count: number) => `The service refused ${rows(count)}:`,
  stop: "Stop",
  goOn: "Go on",
  stopped: "Stopped. Nothing is lost: go on here, or choose the same file later.",
  waits: {
    connection:
      "The service does not answer. The page tries again by itself; nothing is sent twice.",
    rate: "The service takes no more requests in this minute. The page goes on by itself.",
  },
  show: "Show the messages",
}

export const sheetProblemLabels: Readonly<Record<SheetProblem["code"], string>> = {
  too_large: "The file has more than 10 MiB.",
  not_text: "The file is not text in UTF-8. Save it as “CSV UTF-8”.",
  empty: "The file has no rows.",
  too_many_rows: "The file has more than 10,000 rows. Divide it.",
  unclosed_quote: "A quote begins here and does not end.",
  text_after_quote: "Text follows the closing quote of this cell.",
  too_many_cells: "The row has more cells than the first one.",
}

export const rowProblemLabels: Readonly<Record<RowProblemCode, (text: string) => string>> = {
  no_recipient: () => "No recipient",
  wrong_phone: (text) => `“${text}” is no phone with + and country code`,
  wrong_username: (text) => `“${text}” is no phone with + and no username with @`,
  no_text: () => "No text",
  long_text: (text) => `The text has ${text} characters, 3,000 are allowed`,
  wrong_time: (text) => `“${text}” is no time such as 2026-12-01T09:00`,
}
