/** The words of contacts. */
import { buttonNames } from "../ui/words.ts"
export const contactsLabels = {
  actions: "Actions",
  title: "Contacts",
  about: "Recipients with a name; messages can name a contact instead of a phone.",
  add: buttonNames.addContact,
  caption: "Contacts, the newest first",
  empty: "No contact yet",
  emptyAbout: "A contact gives a phone or a username a name.",
  othersAdd: "Owners and administrators of this workspace add them.",
  name: "Name",
  address: "Phone or username",
  made: "Added",
  remove: "Delete",
  removeNamed: (name: string) => `Delete ${name}`,
  removeTitle: (name: string) => `Delete ${name}?`,
  removeAbout: "Messages that were accepted for this contact still leave.",
  addressAbout: "A phone with + and country code, or a Telegram username with @.",
  example: "+15550100002",
}
