/** Pages that send: media, number checks, reminders, accounts. Over a real service, in a real browser. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import jsQR from "jsqr"
import type { Page } from "playwright-core"
import { assert, describe, it } from "vitest"
import { loginErrorLabels } from "../pages/telegram/words.ts"
import {
  assertCount,
  assertEventually,
  assertInvalid,
  awaitAnswers,
  barriers,
  goTo,
  loseAnswer,
  setUpDashboard,
  visibleText,
  unique,
  uniquePhone,
} from "./browserPages.ts"
import { picture } from "./screens.ts"
import { skipsWithoutBrowser } from "./startDashboard.ts"

/** What a picture's QR code says, by the browser's own eyes: only it reads PNG here. */
const readQrCode = async (png: Buffer, page: Page): Promise<string | undefined> => {
  const { data, height, width } = await page.evaluate(
    async (bytes) => {
      const image = await createImageBitmap(new Blob([Uint8Array.from(bytes)]))
      const canvas = document.createElement("canvas")
      canvas.width = image.width
      canvas.height = image.height
      const context = canvas.getContext("2d")
      context?.drawImage(image, 0, 0)
      const drawn = context?.getImageData(0, 0, image.width, image.height)
      return { data: [...(drawn?.data ?? [])], width: image.width, height: image.height }
    },
    [...png],
  )
  return jsQR(Uint8ClampedArray.from(data), width, height)?.data
}

describe.skipIf(skipsWithoutBrowser)("the pages that send", () => {
  const { dashboard, onPage } = setUpDashboard({
    settings: { TELEGRAM_API_ID: "1", TELEGRAM_API_HASH: "0123456789abcdef0123456789abcdef" },
  })

  const get = (path: string) =>
    dashboard.operate("GET", `/admin/v1/workspaces/1/${path}`) as Promise<{
      data: ReadonlyArray<Record<string, unknown>>
    }>

  it("uploads a file, shows it and its link, and deletes it after a question", () =>
    onPage("/w/1/media", async (page) => {
      await page
        .getByLabel("Upload a file")
        .setInputFiles({ name: "<img src=x>.png", mimeType: "image/png", buffer: picture })
      await page.getByText("<img src=x>.png uploaded.").waitFor()
      await page.getByText("in 1 file").waitFor()
      // The image has its box before its bytes arrive.
      await page.waitForFunction(
        () => document.querySelector<HTMLImageElement>("tbody img")?.naturalWidth === 8,
      )
      await page.getByRole("button", { name: "Details of <img src=x>.png" }).click()
      const link = (await page.getByRole("dialog").locator("code").textContent()) ?? ""
      assert.strictEqual((await fetch(link)).status, 200)
      await page.keyboard.press("Escape")
      await page.getByLabel("Type", { exact: true }).selectOption("file")
      await page.getByText("No files of this type").waitFor()
      await page.getByLabel("Type", { exact: true }).selectOption("image")
      await page.getByRole("button", { name: "Details of <img src=x>.png" }).click()
      await page.getByRole("button", { name: "Delete <img src=x>.png" }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click()
      await page.getByText("No files of this type").waitFor()
      assert.deepStrictEqual((await get("media")).data, [])
    }))

  it("sends a file of this machine once, although the answer was lost, and shows it before", () =>
    onPage("/w/1/messages/new", async (page) => {
      const [name, phone] = [unique("menu"), uniquePhone()]
      await page.getByLabel("To", { exact: true }).fill(phone)
      await page.getByLabel("Upload", { exact: true }).check()
      await page
        .getByLabel("File", { exact: true })
        .setInputFiles({ name: `${name}.png`, mimeType: "image/png", buffer: picture })
      const preview = page.getByRole("img", { name: "Image preview" })
      await preview.waitFor()
      await page.waitForFunction(() => document.querySelector("canvas")?.width === 8)
      await page.getByLabel("Text", { exact: true }).fill("Our menu")
      await loseAnswer(page, "**/workspaces/1/messages?*")
      await page.getByRole("button", { name: "Send", exact: true }).click()
      await page.getByRole("alert").filter({ hasText: "is not responding" }).waitFor()
      await page.getByRole("button", { name: "Send", exact: true }).click()
      await page.getByText("Queued ·").waitFor()
      const { data: media } = await get("media")
      const uploaded = media.filter((file) => file["file_name"] === `${name}.png`)
      assert.lengthOf(uploaded, 1)
      const { data: messages } = await get(`messages?to=${encodeURIComponent(phone)}`)
      assert.lengthOf(messages, 1)
      assert.deepInclude(messages[0]?.["media"], { media_id: uploaded[0]?.["id"] })
    }))

  it("sends a file of the workspace from its page, and a link with its name before", () =>
    onPage("/w/1/media", async (page) => {
      const file = unique("terms")
      await dashboard.upload(`${file}.png`, picture)
      await page.reload()
      await page.getByRole("link", { name: `Send ${file}.png` }).click()
      await page.getByAltText("Image preview").waitFor()
      const phone = uniquePhone()
      await page.getByLabel("To", { exact: true }).fill(phone)
      await page.getByLabel("Link", { exact: true }).check()
      await page.getByLabel("URL").fill("http://127.0.0.1:9/terms.pdf?v=1")
      const preview = page.getByRole("region", { name: "Preview" })
      await preview.getByText("terms.pdf").waitFor()
      await page.getByLabel("From Media").check()
      await page.getByLabel("Workspace file").waitFor()
      await page.getByRole("button", { name: "Send", exact: true }).click()
      await page.getByText("Queued ·").waitFor()
      const { data } = await get(`messages?to=${encodeURIComponent(phone)}`)
      assert.isNotNull(data[0]?.["media"])
      await goTo(page, dashboard, `/w/1/messages?find=${encodeURIComponent(phone)}`)
      await visibleText(page, "Image attached").first().click()
      const panel = page.getByRole("complementary")
      const image = panel.getByRole("img", { name: `${file}.png` })
      await assertEventually(async () => {
        assert.isTrue(await image.evaluate((one) => (one as HTMLImageElement).naturalWidth === 8))
      })
      const saved = page.waitForEvent("download")
      await panel.getByRole("link", { name: `Download ${file}.png` }).click()
      assert.deepStrictEqual(await readFile(await (await saved).path()), picture)
      const [media] = data.map((message) => (message["media"] as { media_id: number }).media_id)
      await dashboard.operate("DELETE", `/admin/v1/workspaces/1/media/${media}`)
      await page.reload()
      await panel.getByText("The file was deleted.").waitFor()
      await goTo(page, dashboard, `/w/1/emulator?phone=${encodeURIComponent(phone)}`)
      await page.getByRole("navigation", { name: "Phones" }).getByText("Image").first().waitFor()
    }))

  it("imports contacts of a file, says what became of each row, and finds them", () =>
    onPage("/w/1/contacts", async (page) => {
      const [first, second] = [uniquePhone(), uniquePhone()]
      const name = unique("Zoë <b>Zed</b>")
      await dashboard.operate("POST", "/admin/v1/workspaces/1/contacts", { name, phone: second })
      await page.getByRole("button", { name: "Import CSV" }).first().click()
      await page.getByLabel("CSV file").setInputFiles({
        name: "contacts.csv",
        mimeType: "text/csv",
        buffer: Buffer.from(
          `phone;name\n${first};${name}\n${second};Again\n${first};Twice\n+12;Wrong\n+15550109999;\n`,
        ),
      })
      await page.getByText("Skipped, without a name or an address: row 6.").waitFor()
      const dialog = page.getByRole("dialog")
      await dialog.getByRole("button", { name: "Import 3 contacts" }).click()
      await dialog.getByText("1 added, 1 already there.").waitFor()
      await dialog.getByText(/^Row 5: /).waitFor()
      assert.deepStrictEqual(await barriers(page), [])
      await dialog.getByRole("button", { name: "Done" }).click()
      const find = page.getByLabel("Search contacts")
      await find.fill("zed")
      await find.press("Enter")
      await page.getByText("2 found").waitFor()
      await find.fill(first.slice(1))
      await find.press("Enter")
      await page.getByText("1 found").waitFor()
      await page.getByRole("row", { name: first }).getByText(name).waitFor()
      await page.reload()
      await page.getByText("1 found").waitFor()
      await find.fill("no such name")
      await find.press("Enter")
      await page.getByRole("button", { name: "Clear search" }).click()
      await visibleText(page, second).waitFor()
    }))

  it("checks phones that are pasted and those of a file, and gives the results as a file", () =>
    onPage("/w/1/number-checks", async (page) => {
      await page.getByRole("button", { name: "Check phones" }).first().click()
      await page.getByLabel("Phones", { exact: true }).fill("+1 555 023-1001\n+15550231001")
      await page.getByText("1 phone.").waitFor()
      await page.getByLabel("Or upload a file").setInputFiles({
        name: "phones.csv",
        mimeType: "text/csv",
        buffer: Buffer.from(
          `name;phone\n${Array.from({ length: 119 }, (_, index) => `x;+155502320${String(index).padStart(2, "0")}`).join("\n")}\ny;+15550230000\n`,
        ),
      })
      await page.getByLabel("Name", { exact: true }).fill("Guests")
      await page.getByRole("button", { name: "Check 121 phones" }).click()
      await page.getByRole("heading", { level: 1, name: "Guests" }).waitFor()
      await page.getByText("121 of 121 checked").waitFor()
      await page.getByLabel("Show").selectOption("not_registered")
      await assertCount(page.locator("tbody tr"), 1)
      await page.getByRole("row", { name: /^\+15550230000 not registered/ }).waitFor()
      const saved = page.waitForEvent("download")
      await page.getByRole("button", { name: "Download as CSV" }).click()
      const lines = (await readFile(await (await saved).path(), "utf8")).trimEnd().split("\r\n")
      assert.lengthOf(lines, 122)
      assert.strictEqual(lines[0], "phone,status,checked_at")
      assert.match(lines[1] ?? "", /^\+15550231001,registered,\d{4}-/)
      assert.match(lines.at(-1) ?? "", /^\+15550230000,not_registered,/)
    }))

  it("divides more than 1,000 phones into checks, and names the line of a wrong one before it asks", () =>
    onPage("/w/1/number-checks", async (page) => {
      await page.getByRole("button", { name: "Check phones" }).first().click()
      const phones = Array.from(
        { length: 1001 },
        (_, index) => `+155502400${String(index).padStart(4, "0").slice(-4)}`,
      )
      await page.getByLabel("Phones", { exact: true }).fill([...phones.slice(1), "0155"].join("\n"))
      const name = unique("Many")
      await page.getByLabel("Name", { exact: true }).fill(name)
      await page.getByRole("button", { name: "Check 1,001 phones" }).click()
      await page.getByText("line 1,001 (0155). Nothing was checked.").waitFor()
      // Spelled like a phone, with a calling code that no country has.
      const spelled = [...phones.slice(1), "+9990000000"].join("\n")
      await page.getByLabel("Phones", { exact: true }).fill(spelled)
      await page.getByRole("button", { name: "Check 1,001 phones" }).click()
      await page.getByText(/^Line 1,001: /).waitFor()
      await page.getByLabel("Phones", { exact: true }).fill(phones.join("\n"))
      await page.getByRole("button", { name: "Check 1,001 phones" }).click()
      await page.getByRole("link", { name: `${name} 2/2` }).waitFor()
      const totals = (await get("number-checks")).data
        .filter((check) => String(check["name"]).startsWith(name))
        .map(({ total }) => total)
      assert.deepStrictEqual(totals, [1, 1000])
    }))

  it("shows the next runs while the pattern is written, with what the clocks do to them", () =>
    onPage("/w/1/reminders/new", async (page) => {
      const runs = page.getByRole("list", { name: "Next runs" }).getByRole("listitem")
      await runs.nth(9).waitFor()
      await page.getByLabel("Time zone").fill("Europe/Berlin")
      await page.getByLabel("Repeats").selectOption("Custom")
      await page.getByLabel("Cron schedule").fill("30 2 28 3 *")
      await page.getByText("moved: the clock change skips this time").first().waitFor()
      await page.getByText("Clocks change from +01:00 to +02:00").first().waitFor()
      await visibleText(page, /March 28, 20(27|32), 03:00 \+02:00/)
        .first()
        .waitFor()
      await page.getByLabel("Cron schedule").fill("30 2 30 2 *")
      await page.getByRole("alert").waitFor()
      await assertInvalid(page.getByLabel("Cron schedule"))
      await page.getByLabel("Cron schedule").fill("0 9 * * *")
      await runs.nth(9).waitFor()
      await page.getByLabel("Time zone").fill("Nowhere")
      await assertInvalid(page.getByLabel("Time zone"))
      await page.getByRole("alert").waitFor()
    }))

  it("says a schedule in words, for the pattern alone where there are none", () =>
    onPage("/w/1/reminders/new", async (page) => {
      const runs = page.getByRole("list", { name: "Next runs" }).getByRole("listitem")
      const zone = page.getByLabel("Time zone")
      await zone.fill("UTC")
      await page.getByLabel("Repeats").selectOption("On weekdays at")
      await page.getByLabel("Time", { exact: true }).fill("08:30")
      await runs
        .first()
        .getByText(/^(Mon|Tues|Wednes|Thurs|Fri)day, .*, 08:30/)
        .waitFor()
      await runs
        .first()
        .getByText(/ · (today|tomorrow|in \d days)$/)
        .waitFor()
      await page.getByLabel("Repeats").selectOption("Monthly on")
      await page.getByLabel("Day of the month").selectOption("31")
      await page.getByText("Months without the 31st have no run.").waitFor()
      await runs
        .nth(9)
        .getByText(/ 31, 20\d\d, 08:30/)
        .waitFor()
      await page.getByLabel("Repeats").selectOption("Custom")
      const cron = page.getByLabel("Cron schedule")
      assert.strictEqual(await cron.inputValue(), "30 8 31 * *")
      await cron.fill("0 * * * *")
      await runs
        .first()
        .getByText(/ · (today|tomorrow)$/)
        .waitFor()
      await cron.waitFor()
    }))

  it("makes a reminder once, changes it, runs it, pauses it and deletes it", () =>
    onPage("/w/1/reminders", async (page) => {
      const [name, phone] = [unique("<b>Weekly</b>"), uniquePhone()]
      const named = async () =>
        (await get("reminders")).data.filter((reminder) => reminder["name"] === name)
      await page.getByRole("link", { name: "New reminder" }).first().click()
      await page.getByLabel("Name", { exact: true }).fill(name)
      await page.getByLabel("To", { exact: true }).fill(phone)
      await page.getByLabel("Text", { exact: true }).fill("Soup")
      await page.getByLabel("Repeats").selectOption("Every week on")
      await page.getByLabel("Day", { exact: true }).selectOption("Friday")
      await page.getByLabel("Time", { exact: true }).fill("16:05")
      await page.getByLabel("Time zone").fill("Europe/Berlin")
      await loseAnswer(page, "**/workspaces/1/reminders")
      await page.getByRole("button", { name: "Create reminder" }).click()
      await page.getByRole("alert").filter({ hasText: "is not responding" }).waitFor()
      await page.getByRole("button", { name: "Create reminder" }).click()
      await page.getByRole("heading", { level: 1, name }).waitFor()
      const [reminder, ...others] = await named()
      assert.deepStrictEqual(others, [])
      assert.deepInclude(reminder, {
        from: null,
        schedule: { cron: "5 16 * * 5", timezone: "Europe/Berlin" },
      })
      await page.getByLabel("Text", { exact: true }).fill("Stew")
      await page.getByRole("button", { name: "Save", exact: true }).click()
      await page.getByText("Saved.").waitFor()
      await page.getByRole("button", { name: "Run now" }).click()
      await page.getByText("Run finished.").waitFor()
      await page.getByRole("table", { name: "Runs, newest first" }).getByText("sent").waitFor()
      const sent = (await get(`messages?to=${encodeURIComponent(phone)}`)).data
      assert.deepStrictEqual(
        sent.map(({ text }) => text),
        ["Stew"],
      )
      await page.getByRole("button", { name: "Pause", exact: true }).click()
      await page.getByText("This reminder is paused.").waitFor()
      assert.isNull((await named())[0]?.["next_run_at"])
      await page.getByRole("button", { name: "Resume", exact: true }).click()
      await page.getByText("This reminder is active.").waitFor()
      await page.getByRole("link", { name: "All reminders" }).click()
      await page.getByRole("row", { name }).getByText("Every Friday at 16:05").waitFor()
      await page.getByRole("link", { name }).click()
      await page.getByRole("button", { name: "Delete" }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click()
      await page.getByRole("heading", { level: 1, name: "Reminders" }).waitFor()
      await assertCount(page.getByText(name), 0)
      assert.isEmpty(await named())
    }))

  describe("a Telegram account", () => {
    const addAccount = async (page: Page, phone: string) => {
      await goTo(page, dashboard, "/w/1/numbers")
      await page.getByRole("button", { name: "Add a Telegram account" }).click()
      await page.getByLabel("Account phone number").fill(phone)
      await page.getByRole("button", { name: "Add and log in" }).click()
      await page.getByText("Login method").waitFor()
    }
    const startByCode = async (page: Page) => {
      await page.getByLabel("Enter a code").check()
      await page.getByRole("button", { name: "Start login" }).click()
    }
    const give = async (page: Page, label: string, value: string) => {
      await page.getByLabel(label, { exact: true }).fill(value)
      await page.getByRole("button", { name: "Continue" }).click()
    }

    it("logs in by a QR code that a phone can read", () =>
      onPage("/w/1/numbers", async (page) => {
        await addAccount(page, uniquePhone())
        await page.getByRole("button", { name: "Start login" }).click()
        const code = page.getByRole("img", { name: "QR code to scan" })
        await code.waitFor()
        assert.deepStrictEqual(await barriers(page), [])
        const read = await readQrCode(await code.screenshot(), page)
        assert.match(read ?? "", /^tg:\/\/login\?token=/)
        await page.getByRole("button", { name: "Scan as the simulated account" }).click()
        await page.getByText("The account is logged in").waitFor()
      }))

    it("logs in by code and password, and takes a wrong one again", () =>
      onPage("/w/1/numbers", async (page) => {
        await addAccount(page, uniquePhone())
        await startByCode(page)
        await give(page, "Code", "00000")
        await assertInvalid(page.getByLabel("Code", { exact: true }))
        await give(page, "Code", "22222")
        await page.getByText("Enter the account’s password").waitFor()
        assert.deepStrictEqual(await barriers(page), [])
        await give(page, "Password", "wrong")
        await page.getByRole("alert").waitFor()
        await give(page, "Password", "password")
        await page.getByText("The account is logged in").waitFor()
      }))

    it("keeps what is chosen and typed while the page asks again", () =>
      onPage("/w/1/numbers", async (page) => {
        await addAccount(page, uniquePhone())
        const typed = uniquePhone()
        await page.getByLabel("Enter a code").check()
        await page.getByLabel("Phone", { exact: true }).fill(typed)
        const again = page.waitForResponse(/telegram-login$/)
        await dashboard.operate(
          "PATCH",
          `/admin/v1/workspaces/1/numbers/${/numbers\/(\d+)/.exec(page.url())?.[1]}`,
          { label: "Later" },
        )
        await again
        await awaitAnswers(page)
        assert.strictEqual(await page.getByLabel("Phone", { exact: true }).inputValue(), typed)
      }))

    it("says why a login failed or is over, and begins again", () =>
      onPage("/w/1/numbers", async (page) => {
        await addAccount(page, `${uniquePhone()}0000`)
        await startByCode(page)
        await page.getByText("This phone has no Telegram account.").waitFor()
        await page.getByRole("button", { name: "Start login" }).click()
        await page.getByRole("img", { name: "QR code to scan" }).waitFor()
        await page.getByRole("button", { name: "Cancel login" }).click()
        await page.getByRole("button", { name: "Start login" }).click()
        await page.getByRole("img", { name: "QR code to scan" }).waitFor()
        await dashboard.operate("POST", "/admin/v1/simulator/clock/advance", { seconds: 700 })
        await page.getByText("Login expired").waitFor()
        await page.getByRole("button", { name: "Start login" }).waitFor()
      }))

    it("has a sentence for every error of the contract", async () => {
      const contract = await readFile(
        join(import.meta.dirname, "../../../docs/contract/operator.md"),
        "utf8",
      )
      const row = /why it failed: (.*?)Telegram's own word/.exec(contract)?.[1] ?? ""
      const codes = [...row.matchAll(/`(\w+)`/g)].map(([, code = ""]) => code)
      assert.isAbove(codes.length, 9)
      assert.deepStrictEqual(Object.keys(loginErrorLabels).toSorted(), codes.toSorted())
    })
  })

  it("shows every attempt at a callback of version 1", () =>
    onPage("/w/1/webhooks", async (page) => {
      const key = (await dashboard.operate("POST", "/admin/v1/workspaces/1/keys", {
        version: 1,
      })) as { key: string }
      const { client_id: client } = (await dashboard.operate("GET", "/admin/v1/workspaces/1")) as {
        client_id: number
      }
      await dashboard.request("POST", "/api/v1/send_msg/", {
        client_id: client,
        api_key: key.key,
        whatsapp_client: 1,
        msg_type: 0,
        country_code: "1",
        phone: "5550270001",
        msg: "Called back",
        webhook: "http://127.0.0.1:65000/<b>called</b>",
      })
      await page.getByRole("link", { name: "Callbacks" }).click()
      await page
        .getByRole("row", { name: /^message.sent .*called.* connection failed/ })
        .first()
        .waitFor()
    }))

  it("keeps the sending number of a form when that number is logged out meanwhile", async () => {
    const path = "/admin/v1/workspaces"
    const { id } = (await dashboard.operate("POST", path, { name: "Two" })) as { id: number }
    const makeNumber = async (phone: string) => {
      const body = { platform: "whatsapp", phone, status: "connected" }
      return (await dashboard.operate("POST", `${path}/${id}/numbers`, body)) as { id: number }
    }
    const first = await makeNumber(uniquePhone())
    await makeNumber(uniquePhone())
    await onPage(`/w/${id}/messages/new`, async (page) => {
      await page.getByText("Live", { exact: true }).waitFor()
      const from = page.getByLabel("From", { exact: true })
      // Of several none is chosen by chance.
      await assertEventually(async () => assert.strictEqual(await from.inputValue(), ""))
      await from.selectOption(String(first.id))
      const asksAgain = page.waitForResponse(/\/numbers$/)
      await dashboard.operate("POST", `/admin/v1/simulator/numbers/${first.id}/logout`)
      await asksAgain
      await awaitAnswers(page)
      assert.strictEqual(await from.inputValue(), String(first.id))
      const waits = "Its messages wait. Logged out on the phone. Link it again"
      await page.getByText(waits).waitFor()
      await page.getByLabel("To", { exact: true }).fill(uniquePhone())
      await page.getByLabel("Text", { exact: true }).fill("Waits")
      await page.getByRole("button", { name: "Send", exact: true }).click()
      await page.getByText("Queued ·").waitFor()
      await page.getByText(waits).waitFor()
    })
  })

  it("says at the form that a disabled workspace's messages wait", () =>
    onPage("/workspaces", async (page) => {
      const { id } = (await dashboard.operate("POST", "/admin/v1/workspaces", {
        name: "Disabled",
      })) as { id: number }
      await dashboard.operate("PATCH", `/admin/v1/workspaces/${id}`, { account_disabled: true })
      await goTo(page, dashboard, `/w/${id}/messages/new`)
      await visibleText(page, "Messages wait until it is enabled").waitFor()
    }))
})
