/** The words of contacts. */
import { buttonNames } from "../ui/words.ts"
export const contactsLabels = {
  actions: "Actions",
  title: "Contacts",
  about: "Named recipients. Messages can use a contact instead of a phone.",
  add: buttonNames.addContact,
  caption: "Contacts, newest first",
  find: "Search contacts",
  findExample: "Name, phone or username",
  import: "Import CSV",
  found: (count: number) => `${count.toLocaleString()} found`,
  notAll: "Older contacts were not searched.",
  nothingFound: "No matching contacts",
  fewerLetters: "Try a shorter search.",
  clear: "Clear search",
  empty: "No contacts yet",
  emptyAbout: "A contact gives a phone or a username a name.",
  othersAdd: "Owners and administrators can add them.",
  name: "Name",
  address: "Phone or username",
  made: "Added",
  remove: "Delete",
  removeNamed: (name: string) => `Delete ${name}`,
  removeTitle: (name: string) => `Delete ${name}?`,
  removeAbout: "Messages already accepted for this contact are still sent. This cannot be undone.",
  addressAbout: "Phone number with + and country code, or Telegram @username.",
  example: "+15550100002",
}

const rowsText = (rows: ReadonlyArray<number>): string =>
  `${rows.length === 1 ? "row" : "rows"} ${rows.slice(0, 10).join(", ")}${rows.length > 10 ? "…" : ""}`

export const importLabels = {
  title: "Import contacts",
  file: "CSV file",
  fileAbout: "A name and a phone or username per row. A header row is optional.",
  action: (count: number) =>
    count === 0
      ? "Import"
      : count === 1
        ? "Import 1 contact"
        : `Import ${count.toLocaleString()} contacts`,
  progress: "Contacts processed",
  unreadable: "Not a text file, or larger than 1 MiB.",
  nothing: "No row has a name and an address.",
  tooMany: (max: number) => `More than ${max.toLocaleString()} contacts. Split the file.`,
  incomplete: (rows: ReadonlyArray<number>) =>
    `Skipped, without a name or an address: ${rowsText(rows)}.`,
  rejected: (row: number, message: string) => `Row ${row}: ${message}`,
  done: (added: number, existing: number) =>
    `${added.toLocaleString()} added${existing === 0 ? "" : `, ${existing.toLocaleString()} already there`}.`,
}
