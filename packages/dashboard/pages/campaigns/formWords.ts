/** The words of the form that makes and changes a campaign. */
import { buttonNames } from "../ui/words.ts"
import { dayNames } from "./names.ts"

const rows = (count: number): string => (count === 1 ? "1 row" : `${count.toLocaleString()} rows`)

export const formLabels = {
  newTitle: buttonNames.newCampaign,
  editTitle: (name: string) => `Edit ${name}`,
  back: "Back to the campaign",
  name: "Name",
  nameAbout: "For you: recipients never see it.",
  rows: "Recipients",
  how: {
    keep: (total: number) => `Keep the ${rows(total)}`,
    replace: "Upload them again",
    add: "Add rows",
  },
  source: { file: "CSV file", pasted: "Paste rows" },
  file: "CSV file",
  fileAbout:
    "Up to 100,000 rows. The first line names the columns: phone, and any that the text uses. Columns send_at and expires_at are a row’s own times.",
  paste: "Rows",
  pasteAbout:
    "Copied from a spreadsheet, or separated by commas. The first line names the columns.",
  noHeader:
    "The first line has to name the columns, such as phone,name. This one looks like a recipient.",
  column: "Recipients are in the column",
  columnAbout: "Phones with + and country code, or Telegram usernames with @.",
  text: "Text",
  textAbout:
    "Each row’s value takes the place of a column’s name in braces. {name|there} says “there” where the value is missing.",
  noColumn: (name: string) => `The rows have no column ${name}.`,
  insert: "Insert",
  insertColumn: (name: string) => `Insert the column ${name}`,
  locked: "The rows were checked with these settings. To change them, upload the rows again.",
  times: "Numbers and times",
  timesAbout: "Any connected number, at once, day and night, unless you choose.",
  from: "From",
  fromAbout:
    "None chosen: any connected number. Of several, each row goes to the one with most room.",
  sendAt: "Begins at",
  sendAtAbout: "Empty: once you start it.",
  expiresAt: "Expires at",
  expiresAtAbout: "Optional: what has not been sent by then is not sent.",
  hours: "Send only at these hours",
  hoursAbout: "What is left waits for the next day of its hours.",
  days: "Days",
  day: dayNames,
  hoursFrom: "From",
  hoursUntil: "Until",
  zone: "Time zone",
  zoneAbout: "Of these hours, and of times in the file.",
  more: "Phones, repeats and limits",
  moreAbout: "The country code of phones without +, who gets two, what is left to others.",
  countryCode: "Country code",
  countryCodeAbout: "For phones without +, such as 49. Empty: every phone has its own.",
  duplicates: "Repeated recipients",
  keepDuplicates: "Send a message for each row",
  dropDuplicates: "Send one message, for the first row",
  reserve: "Left to other messages",
  reserveAbout: "Of the 1,000 that each number sends in 24 hours.",
  reference: "Reference",
  referenceAbout: "Of all its messages. Empty: the service makes one.",
  test: "Test: accept and report it, but send nothing",
  create: "Check the rows",
  save: "Save",
  uploading: (share: number) => `Uploading: ${Math.round(share * 100)}%`,
  previewEmpty: "The text appears here. After the upload you see it for each row.",
}
