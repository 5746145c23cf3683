/** The site's structure by reader: every page of `docs` has one place in it. */

export interface Part {
  readonly title: string
  /** Pages by their path within the site, without `.md`. */
  readonly pages: ReadonlyArray<string>
}

export const outline: ReadonlyArray<Part> = [
  {
    title: "Start",
    pages: [
      "index",
      "tutorial-first-message",
      "tutorial-link-a-phone",
      "tutorial-why-not-arrived",
      "tutorial",
      "tutorial-a-customer-answered",
      "tutorial-version-1",
      "live",
      "live-telegram",
      "installing",
      "project/readme",
    ],
  },
  { title: "Embed", pages: ["embedding"] },
  {
    title: "Operate",
    pages: [
      "configuration",
      "operating",
      "postgresql",
      "monitoring",
      "security",
      "performance",
      "comparison",
    ],
  },
  {
    title: "HTTP",
    pages: ["clients", "recipes", "webhooks", "recipes-for-receivers", "migration", "moving"],
  },
  { title: "Test", pages: ["testing"] },
  { title: "Extend", pages: ["writing-a-transport", "writing-a-store", "rules", "races"] },
  {
    title: "Reference",
    pages: [
      "contract",
      "contract/messages",
      "contract/numbers-and-media",
      "contract/events",
      "contract/conversations",
      "contract/operator",
      "contract/version-1",
      "glossary",
    ],
  },
]

/** Pages that are made from types, after those of `outline`. */
export const referencePages = [
  "open",
  "Messaging",
  "messages",
  "numbers",
  "reminders",
  "campaigns",
  "chats",
  "webhooks",
  "operator",
  "options",
  "common",
  "testing",
] as const

export const projectPages = ["changelog", "contributing", "security"] as const
