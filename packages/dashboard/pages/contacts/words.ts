/** The words of contacts. */
import { buttonNames } from "../ui/words.ts"
export const contactsLabels = {
  actions: "Actions",
  title: "Contacts",
  about: "Named recipients. Messages can use a contact instead of a phone.",
  add: buttonNames.addContact,
  caption: "Contacts, newest first",
  empty: "No contacts yet",
  emptyAbout: "A contact gives a phone or a username a name.",
  othersAdd: "Owners and administrators can add them.",
  name: "Name",
  address: "Phone or username",
  made: "Added",
  remove: "Delete",
  removeNamed: (name: string) => `Delete ${name}`,
  removeTitle: (name: string) => `Delete ${name}?`,
  removeAbout: "Messages already accepted for this contact are still sent.",
  addressAbout: "Phone number with + and country code, or Telegram @username.",
  example: "+15550100002",
}
