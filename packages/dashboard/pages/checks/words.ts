/** The words of number checks. */
import type { NumberCheck } from "@messaging-service/client"
import { buttonNames } from "../ui/words.ts"
import type { PhoneLine } from "./parts.ts"
import type { ResultStatus } from "./resultStatus.ts"

export const checksLabels = {
  title: "Number checks",
  about: "Check which phones are on WhatsApp before you send.",
  add: buttonNames.checkPhones,
  caption: "Number checks, newest first",
  empty: "No checks yet",
  emptyAbout: "Paste phones or upload a file. Each is looked up on WhatsApp.",
  name: "Name",
  unnamed: (id: number) => `Check ${id}`,
  state: "Status",
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
        ? "1 phone."
        : `${count.toLocaleString()} phones, duplicates removed.`,
  file: "Or upload a file",
  fileAbout: "CSV or text. Its phones are added above.",
  noFile: "Not a text file, or no phones in it.",
  tooMany: "At most 10,000 phones.",
  wrong: (lines: ReadonlyArray<PhoneLine>) =>
    `Not a phone with + and country code: ${lines
      .slice(0, namedMax)
      .map(({ line, phone }) => `line ${line.toLocaleString()} (${phone.slice(0, 20)})`)
      .join(
        ", ",
      )}${lines.length > namedMax ? `, and ${(lines.length - namedMax).toLocaleString()} more` : ""}. Nothing was checked.`,
  refused: (line: number, message: string) => `Line ${line.toLocaleString()}: ${message}`,
  name: "Name",
  nameAbout: "Optional. Up to 100 characters.",
  start: (count: number) =>
    count === 0
      ? "Check phones"
      : count === 1
        ? "Check the phone"
        : `Check ${count.toLocaleString()} phones`,
  parts: (count: number) => `1,000 phones per check: this creates ${count} checks.`,
}

export const checkStateLabels: Readonly<Record<NumberCheck["status"], string>> = {
  pending: "waiting",
  processing: "running",
  completed: "completed",
}

export const resultLabels: Readonly<Record<ResultStatus, string>> = {
  pending: "pending",
  registered: "registered",
  not_registered: "not registered",
  failed: "no answer",
}

export const checkLabels = {
  all: "All checks",
  progress: "Phones checked",
  checked: (part: number, all: number) =>
    `${part.toLocaleString()} of ${all.toLocaleString()} checked`,
  waiting: "The check runs in the background, and waits while its number is disconnected.",
  registered: "Registered",
  notRegistered: "Not registered",
  others: "No answer",
  filter: "Show",
  everything: "All phones",
  caption: "Phones of the check",
  phone: "Phone",
  result: "Result",
  at: "Checked",
  nothing: "No phones with this result",
  nothingAbout: "Choose another filter.",
  download: "Download as CSV",
  downloading: (share: number) => `${Math.round(share * 100)}%`,
}
