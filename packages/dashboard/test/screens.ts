/** Every screen with something on it: the check for barriers goes through them, and the pictures are of them. */
import { createServer } from "node:http"
import type { Page } from "playwright-core"
import type { TestDashboard } from "./startDashboard.ts"

export interface Screen {
  readonly name: string
  /** Within the dashboard; null for the page that is open. */
  readonly path: string | null
  /** Waits until everything is shown, or opens what the screen is about. */
  readonly ready: (page: Page) => Promise<unknown>
}

const text = (labels: string | RegExp) => (page: Page) =>
  page.getByText(labels).filter({ visible: true }).first().waitFor()

/** A form is whole once the numbers to choose from are there. */
const form = (labels: string) => async (page: Page) => {
  await page.getByLabel("From", { exact: true }).waitFor()
  await text(labels)(page)
}

const press = (button: string, then: string | RegExp) => async (page: Page) => {
  await page.getByRole("button", { name: button, exact: true }).click()
  await text(then)(page)
}

export const screens: ReadonlyArray<Screen> = [
  { name: "workspaces", path: "/workspaces", ready: text("Example") },
  {
    name: "workspaces-new",
    path: null,
    ready: press("Create workspace", "Starts with an unlimited plan"),
  },
  { name: "overview", path: "/w/1/overview", ready: text("Message results") },
  { name: "messages", path: "/w/1/messages", ready: text("Your table is ready") },
  {
    name: "message",
    path: null,
    ready: async (page) => {
      await page.locator("tbody tr").first().click()
      await page.getByRole("list", { name: "Timeline" }).locator("li").first().waitFor()
    },
  },
  {
    name: "messages-filters",
    path: "/w/1/messages?error=send_failed",
    ready: async (page) => {
      await page.locator("summary", { hasText: "Filter" }).click()
      await page.getByLabel("Error").waitFor()
    },
  },
  { name: "messages-nothing", path: "/w/1/messages?find=zzz", ready: text("No matching messages") },
  { name: "message-new", path: "/w/1/messages/new", ready: form("as the recipient sees it") },
  { name: "chats", path: "/w/1/chats", ready: text("<i>Grace</i>") },
  {
    name: "chat",
    path: null,
    ready: async (page) => {
      await page.getByRole("link", { name: /^<i>Grace/ }).click()
      await text("Which day?")(page)
    },
  },
  { name: "chat-delete", path: null, ready: press("Delete chat", "stay under Messages") },
  { name: "campaigns", path: "/w/1/campaigns", ready: text("Spring <b>hours</b>") },
  { name: "campaign-new", path: "/w/1/campaigns/new", ready: text("Numbers and times") },
  {
    name: "campaign-new-filled",
    path: null,
    ready: async (page) => {
      await page
        .getByLabel("CSV file", { exact: true })
        .last()
        .setInputFiles({
          name: "guests.csv",
          mimeType: "text/csv",
          buffer: Buffer.from(
            "phone,name\n+15550100201,Ada\n+15550100202,<b>Bob</b>\n0155,Eve\n+15550100203,\n",
          ),
        })
      await page.getByLabel("Text", { exact: true }).fill("*Hello* {name}, your table is ready")
      await page.getByText("Numbers and times").click()
      await page.getByLabel("Send only at these hours").check()
      await page.getByText("Phones, repeats and limits").click()
      await text("Insert")(page)
    },
  },
  {
    name: "campaign-draft",
    path: null,
    ready: press("Check rows", "No value in the column name"),
  },
  { name: "campaign-start", path: null, ready: press("Start", "Sends 2 messages") },
  { name: "campaign", path: "/w/1/campaigns/1", ready: text("A user paused it.") },
  { name: "campaign-edit", path: "/w/1/campaigns/1/edit", ready: text("Time zone") },
  { name: "media", path: "/w/1/media", ready: text("table.png") },
  {
    name: "media-details",
    path: null,
    ready: press("Details of table.png", "for the next 26 hours"),
  },
  {
    name: "message-media",
    path: "/w/1/messages/new?media=1",
    ready: (page) => page.getByAltText("Image preview").waitFor(),
  },
  { name: "telegram", path: "/w/1/numbers/1/telegram", ready: text("Login method") },
  { name: "reminders", path: "/w/1/reminders", ready: text("Weekly menu") },
  { name: "reminder", path: "/w/1/reminders/1", ready: text("Clocks change from") },
  { name: "reminder-new", path: "/w/1/reminders/new", ready: form("Next runs") },
  { name: "number-checks", path: "/w/1/number-checks", ready: text("Guests") },
  { name: "number-check-new", path: null, ready: press("Check phones", "CSV or text") },
  { name: "number-check", path: "/w/1/number-checks/1", ready: text("3 of 3 checked") },
  {
    name: "numbers",
    path: "/w/1/numbers",
    ready: (page) => page.getByRole("meter").first().waitFor(),
  },
  { name: "number", path: "/w/1/numbers/1", ready: text("The number connects directly.") },
  { name: "number-delete", path: null, ready: press("Delete number", "cannot be undone") },
  {
    name: "numbers-link",
    path: "/w/1/numbers",
    ready: press("Link a phone", "Scan a QR code"),
  },
  {
    name: "link",
    path: null,
    ready: async (page) => {
      await page.getByRole("button", { name: "Show code" }).click()
      await page.getByAltText("QR code to scan with the phone").waitFor()
    },
  },
  { name: "webhooks", path: "/w/1/webhooks", ready: text("/events") },
  { name: "webhook-new", path: null, ready: press("Add webhook", "A public https URL") },
  { name: "webhook", path: "/w/1/webhooks/1", ready: text("message.sent") },
  { name: "callbacks", path: "/w/1/webhooks/callbacks", ready: text("No callbacks yet") },
  { name: "contacts", path: "/w/1/contacts", ready: text("+15550100444") },
  {
    name: "contacts-new",
    path: null,
    ready: press("Add contact", "Phone number with + and country code"),
  },
  {
    name: "contacts-import",
    path: "/w/1/contacts",
    ready: press("Import CSV", "A header row is optional"),
  },
  { name: "settings", path: "/w/1/settings", ready: text("Plan name") },
  {
    name: "settings-key",
    path: null,
    ready: press("Create key", "Check which phones are registered"),
  },
  {
    name: "emulator",
    path: "/w/1/emulator?phone=%2B15550101001",
    ready: (page) => page.getByRole("button", { name: "Mark as read" }).first().waitFor(),
  },
  { name: "service", path: "/service", ready: text("Each process reports every 15 seconds.") },
  { name: "held", path: "/service/held", ready: text("Nothing is held") },
  { name: "held-messages", path: "/service/held/1", ready: text("Held in Workspace 1") },
  {
    name: "palette",
    path: "/w/1/messages",
    ready: async (page) => {
      await text("Your table is ready")(page)
      await page.keyboard.press("Control+k")
      await page.getByRole("combobox", { name: "Search" }).waitFor()
    },
  },
]

/** A PNG of 8 × 8 points. */
export const picture = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR4nGMQmliLFTEMLQkAB6xIAb+J3GgAAAAASUVORK5CYII=",
  "base64",
)

/** Refuses every event, so that a log has something to tell. */
const startReceiver = async () => {
  const server = createServer((_, response) => response.writeHead(500).end("out of order"))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/events`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        // The service keeps its connections.
        server.closeAllConnections()
      }),
  }
}

/** A campaign that was paused before its time. */
const makeCampaign = async (operate: TestDashboard["operate"]) => {
  const path = "/admin/v1/workspaces/1/campaigns"
  await operate("POST", path, {
    name: "Spring <b>hours</b>",
    text: "Hello {name}, we open at 8.",
    timezone: "Europe/Berlin",
    hours: { from: "00:00", until: "24:00" },
    send_at: new Date(Date.now() + 864_000_000).toISOString(),
  })
  await operate("POST", `${path}/1/rows`, {
    rows: [
      ...Array.from({ length: 60 }, (_, index) => ({
        to: { phone: `+1555011${1001 + index}` },
        values: { name: `Guest ${index}` },
      })),
      { to: { phone: "0155" }, values: { name: "<img src=x>" } },
    ],
  })
  await operate("POST", `${path}/1/start`)
  await operate("POST", `${path}/1/pause`)
}

/** A person and a group who wrote. */
const makeChats = async (operate: TestDashboard["operate"]) => {
  await operate("PUT", "/admin/v1/workspaces/1/conversations", { groups: true })
  const write = (message: object) =>
    operate("POST", "/admin/v1/simulator/numbers/1/received-messages", message)
  const from = { phone: "+15550100445", name: "<i>Grace</i>" }
  await write({ from, group: "Staff <b>party</b>", text: "Who brings the cake?" })
  const question = (await write({ from, text: "Is our table ready?" })) as { id: number }
  await write({
    from: "owner",
    to_phone: from.phone,
    text: "It is.",
    reply_to: { received_message_id: question.id },
  })
  await write({ from, kind: "voice" })
  await write({ from, kind: "unreadable" })
  await write({ from, text: "Long. ".repeat(500) })
  await write({
    from,
    kind: "location",
    content: { latitude: 52.52, longitude: 13.4, name: "Alexanderplatz", address: "Berlin" },
  })
  await write({
    from,
    kind: "poll",
    content: { question: "Which day?", options: ["Monday", "Tuesday"] },
  })
}

/** Fills the workspace of the example, so that no screen is empty. Returns what ends it. */
export const fillWorkspace = async ({
  request,
  operate,
  upload,
}: TestDashboard): Promise<() => Promise<void>> => {
  const receiver = await startReceiver()
  await request("POST", "/api/v2/webhooks", { url: receiver.url, description: "Orders" })
  await request("POST", "/api/v2/messages/batch", {
    to: Array.from({ length: 30 }, (_, index) => ({ phone: `+1555010${1001 + index}` })),
    text: "Your table is ready",
  })
  await request("POST", "/api/v2/messages", {
    to: { phone: "+15550100000" },
    text: "To a phone that does not exist",
  })
  await operate("POST", "/admin/v1/workspaces/1/contacts", {
    name: "<b>Ada</b>",
    phone: "+15550100444",
  })
  await request("POST", "/api/v2/number-checks", {
    name: "Guests",
    phones: ["+15550100301", "+15550100302", "+15550100000"],
  })
  await upload("table.png", picture)
  await request("POST", "/api/v2/reminders", {
    name: "Weekly menu",
    to: { phone: "+15550100302" },
    text: "*This week:* soup",
    schedule: { cron: "30 2 28 3 *", timezone: "Europe/Berlin" },
  })
  await operate("POST", "/admin/v1/workspaces/1/reminders/1/run")
  await makeCampaign(operate)
  await makeChats(operate)
  await operate("POST", "/admin/v1/simulator/settle")
  return receiver.close
}
