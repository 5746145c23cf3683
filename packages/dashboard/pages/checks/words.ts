/** The words of number checks. */
import type { NumberCheck } from "@messaging-service/client"
import { buttonNames } from "../ui/words.ts"
import type { PhoneLine } from "./parts.ts"
import type { ResultStatus } from "./resultStatus.ts"

export const checksLabels = {
  title: "Number checks",
  about: "Find out which phones exist on WhatsApp before you send to them.",
  add: buttonNames.checkPhones,
  caption: "Number checks, the newest first",
  empty: "No check yet",
  emptyAbout: "Paste phones or choose a file: the service asks WhatsApp about each of them.",
  name: "Name",
  unnamed: (id: number) => `Check ${id}`,
  state: "State",
  found: "Registered",
  made: "Started",
  of: (part: number, all: number) => `${part.toLocaleString()} of ${all.toLocaleString()}`,
}

/** A sentence names so many wrong lines. */
const namedMax = 5

export const newCheckLabels = {
  phones: "Phones",
  phonesAbout: (count: number) =>
    count === 0
      ? "With + and country code, one per line. Up to 10,000."
      : count === 1
        ? "1 phone, each counted once."
        : `${count.toLocaleString()} phones, each counted once.`,
  file: "Or a file",
  fileAbout: "CSV or text. Its phones are added above.",
  noFile: "The file is no text or has no phones.",
  tooMany: "At most 10,000 phones.",
  wrong: (lines: ReadonlyArray<PhoneLine>) =>
    `Not a phone with + and country code: ${lines
      .slice(0, namedMax)
      .map(({ line, phone }) => `line ${line.toLocaleString()} (${phone.slice(0, 20)})`)
      .join(
        ", ",
      )}${lines.length > namedMax ? `, and ${(lines.length - namedMax).toLocaleString()} more` : ""}. Nothing was asked.`,
  refused: (line: number, message: string) => `Line ${line.toLocaleString()}: ${message}`,
  name: "Name",
  nameAbout: "Optional: a note, up to 100 characters.",
  start: (count: number) =>
    count === 0
      ? "Check phones"
      : count === 1
        ? "Check the phone"
        : `Check ${count.toLocaleString()} phones`,
  parts: (count: number) =>
    `The service checks 1,000 phones at a time: this makes ${count} checks.`,
}

export const checkStateLabels: Readonly<Record<NumberCheck["status"], string>> = {
  pending: "waiting",
  processing: "under way",
  completed: "done",
}

export const resultLabels: Readonly<Record<ResultStatus, string>> = {
  pending: "not asked yet",
  registered: "registered",
  not_registered: "not registered",
  failed: "no answer",
}

export const checkLabels = {
  all: "All checks",
  progress: "Phones that were asked",
  checked: (part: number, all: number) =>
    `${part.toLocaleString()} of ${all.toLocaleString()} asked`,
  waiting: "The check goes on by itself. While its number is not connected it waits.",
  registered: "Registered",
  notRegistered: "Not registered",
  others: "No answer",
  filter: "Show",
  everything: "All phones",
  caption: "Phones of the check",
  phone: "Phone",
  result: "Result",
  at: "Asked",
  nothing: "No phone has that result",
  nothingAbout: "Another choice shows more.",
  download: "Download as CSV",
  downloading: (share: number) => `${Math.round(share * 100)} %`,
}
