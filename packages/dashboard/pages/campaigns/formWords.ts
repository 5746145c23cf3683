/** The words of the form that creates and edits a campaign. */
import { buttonNames } from "../ui/words.ts"
import { dayNames } from "./names.ts"

const rows = (count: number): string => (count === 1 ? "1 row" : `${count.toLocaleString()} rows`)

export const formLabels = {
  newTitle: buttonNames.newCampaign,
  editTitle: (name: string) => `Edit ${name}`,
  back: "Back to campaign",
  name: "Name",
  nameAbout: "For your team. Recipients don’t see it.",
  rows: "Recipients",
  how: {
    keep: (total: number) => `Keep the ${rows(total)}`,
    replace: "Upload them again",
    add: "Add rows",
  },
  source: { file: "CSV file", pasted: "Paste rows" },
  file: "CSV file",
  fileAbout:
    "Up to 100,000 rows. The first line names the columns: phone, and any that the text uses. Optional: send_at and expires_at, the times of a row.",
  paste: "Rows",
  pasteAbout:
    "Copied from a spreadsheet, or separated by commas. The first line names the columns.",
  noHeader:
    "The first line must name the columns, such as phone,name. This one looks like a recipient.",
  column: "Recipient column",
  columnAbout: "Phones with + and country code, or Telegram usernames with @.",
  text: "Text",
  textAbout:
    "Insert a column by its name in braces. {name|there} writes “there” where the value is missing.",
  noColumn: (name: string) => `No column named ${name}.`,
  insert: "Insert",
  insertColumn: (name: string) => `Insert the column ${name}`,
  locked: "The rows were checked with these settings. Upload the rows again to change them.",
  times: "Numbers and times",
  timesAbout: "Default: any connected number, when started, day and night.",
  from: "From",
  fromAbout:
    "None selected: any connected number. With several, each row goes to the one with the most room.",
  sendAt: "Starts at",
  sendAtAbout: "Leave empty to send once you start it.",
  expiresAt: "Expires at",
  expiresAtAbout: "Optional. Not sent after this time.",
  hours: "Send only at these hours",
  hoursAbout: "Remaining rows wait for these hours on the next day.",
  days: "Days",
  day: dayNames,
  hoursFrom: "From",
  hoursUntil: "Until",
  zone: "Time zone",
  zoneAbout: "For these hours, and for times in the file.",
  more: "Phones, repeats and limits",
  moreAbout: "Country code of phones without +, repeated recipients, room reserved for others.",
  countryCode: "Country code",
  countryCodeAbout: "For phones without +, such as 49. Leave empty if every phone has its own.",
  duplicates: "Repeated recipients",
  keepDuplicates: "Send one message per row",
  dropDuplicates: "Send one message, for the first row",
  reserve: "Reserved for others",
  reserveAbout: "Of each number’s 1,000 messages in 24 hours.",
  reference: "Reference",
  referenceAbout: "For all its messages. Leave empty to generate one.",
  test: "Test: accepted and reported, never sent",
  create: "Check rows",
  save: "Save",
  uploading: (share: number) => `Uploading: ${Math.round(share * 100)}%`,
  previewEmpty: "The text appears here. After the upload you see it for each row.",
}
