/** Chats over a real service with simulated phones: each change is then asked of the service itself. */
import type { Page } from "playwright-core"
import { assert, beforeAll, describe, it } from "vitest"
import {
  assertCount,
  assertEventually,
  awaitAnswers,
  barriers,
  goTo,
  setUpDashboard,
  unique,
  uniquePhone,
} from "./browserPages.ts"
import { picture } from "./screens.ts"
import { skipsWithoutBrowser } from "./startDashboard.ts"

interface Listed {
  readonly data: ReadonlyArray<{ readonly id: number; readonly text?: string }>
}

describe.skipIf(skipsWithoutBrowser)("the pages of chats", () => {
  const { dashboard, onPage, withPage } = setUpDashboard()
  const workspace = "/admin/v1/workspaces/1"

  beforeAll(async () => {
    await dashboard.operate("PUT", `${workspace}/conversations`, { groups: true })
  })

  /** A person writes to the number. Returns the stored message. */
  const write = async (from: Readonly<Record<string, string>>, message: object) =>
    (await dashboard.operate("POST", "/admin/v1/simulator/numbers/1/received-messages", {
      from,
      ...message,
    })) as { readonly id: number; readonly chat: { readonly id: number } }

  const list = (of: string) => dashboard.operate("GET", `${workspace}/${of}`) as Promise<Listed>

  const rows = (page: Page) =>
    page.getByRole("list", { name: "Chats, latest activity first" }).getByRole("listitem")

  const openThread = async (page: Page, name: string) => {
    await rows(page).filter({ hasText: name }).getByRole("link").click()
    return page.getByRole("region", { name: `Chat with ${name}` })
  }

  const confirm = (page: Page, action: string) =>
    page.getByRole("dialog").getByRole("button", { name: action, exact: true }).click()

  it("lists chats with what is unread, the latest first, and finds them by phone", () =>
    onPage("/w/1/overview", async (page) => {
      const [first, second] = [uniquePhone(), uniquePhone()]
      await write({ phone: first, name: unique("Ada") }, { text: "One" })
      const name = unique("<b>Grace</b>")
      for (const text of ["One", "Two"]) await write({ phone: second, name }, { text })
      await page.getByRole("link", { name: "Chats", exact: true }).click()
      const row = rows(page).first()
      await row.getByText(name).waitFor()
      await row.getByText(second).waitFor()
      await row.getByText("2 unread").waitFor()
      // Another person is the latest now.
      await write({ phone: first }, { text: "Two" })
      await rows(page).first().getByText(first).waitFor()
      await page.keyboard.press("/")
      await page.keyboard.type(first.replace("+1", "+1 "))
      await page.keyboard.press("Enter")
      await assertCount(rows(page), 1)
      await rows(page).getByText(first).waitFor()
      await page.getByLabel("Search by phone").fill("+15550999999")
      await page.keyboard.press("Enter")
      await page.getByText("No matching chats").waitFor()
      await page.getByRole("button", { name: "Clear filters" }).click()
      await rows(page).nth(1).waitFor()
    }))

  it("say on a number's page what WhatsApp lets it do with new people, and until when", () =>
    onPage("/w/1/numbers/1", async (page) => {
      const restrict = (json: object) =>
        dashboard.operate("PUT", "/admin/v1/simulator/numbers/1/restrictions", json)
      const region = page.getByRole("region", { name: "New chats" })
      await region.getByText("WhatsApp has not said").waitFor()
      await restrict({ new_chats_closed_until: "2100-01-31T19:00:00Z", limit: 100, used: 42 })
      await page.reload()
      await region.getByText("does not let this number write to new people until").waitFor()
      await region.getByText("42 of 100 new chats used.").waitFor()
      assert.deepStrictEqual(await barriers(page), [])
      await restrict({})
      // The page asks again by itself.
      await region.getByText("WhatsApp lets this number write to new people.").waitFor()
    }))

  it("goes through chats by keys, and shows what comes in without a press", () =>
    onPage("/w/1/chats", async (page) => {
      const [first, second] = [unique("First"), unique("Second")]
      const from = { phone: uniquePhone(), name: first }
      await write(from, { text: "Is my table ready?" })
      await write({ phone: uniquePhone(), name: second }, { text: "Hello" })
      await rows(page).first().getByText(second).waitFor()
      await page.keyboard.press("j")
      await page.getByRole("region", { name: `Chat with ${second}` }).waitFor()
      await page.keyboard.press("j")
      const thread = page.getByRole("region", { name: `Chat with ${first}` })
      await thread.getByText("Is my table ready?").waitFor()
      const text = unique("We are late")
      await write(from, { text })
      // News alone are that soon: pages ask by themselves every ten seconds.
      await thread.getByText(text).waitFor({ timeout: 6000 })
      await page.keyboard.press("Escape")
      await thread.waitFor({ state: "detached" })
    }))

  it("says in the list what was said last, by whom, and what became of it", () =>
    onPage("/w/1/chats", async (page) => {
      const [name, text] = [unique("Last"), unique("<b>Is it ready?</b>")]
      const from = { phone: uniquePhone(), name }
      await write(from, { text: "Before" })
      const { chat, id } = await write(from, { text })
      const row = rows(page).filter({ hasText: name })
      await row.getByText(text).waitFor()
      await assertCount(row.getByText("Before"), 0)
      await dashboard.operate("POST", `/admin/v1/simulator/received-messages/${id}/revoke`)
      await row.getByText("Its author deleted this message.").waitFor()
      const answer = unique("It is")
      await dashboard.operate("POST", `${workspace}/messages`, {
        from: 1,
        to: { chat_id: chat.id },
        text: answer,
      })
      await row.getByText(`You: ${answer}`).waitFor()
    }))

  it("shows what was edited, taken back and reacted to", () =>
    onPage("/w/1/chats", async (page) => {
      const name = unique("Changes")
      const from = { phone: uniquePhone(), name }
      const edited = await write(from, { text: "At seven" })
      const revoked = await write(from, { text: "Or not" })
      // No simulated person reacts to what was received, so the answer is given reactions.
      await page.route("**/chats/*/messages?*", async (route) => {
        const answer = await route.fetch()
        const body = (await answer.json()) as {
          data: ReadonlyArray<{ received_message: { id: number; from: object } | null }>
        }
        const data = body.data.map((entry) => {
          const received = entry.received_message
          if (received?.id !== edited.id) return entry
          const at = new Date().toISOString()
          const reaction = { emoji: "👍", at, from: received.from }
          return { ...entry, received_message: { ...received, reactions: [reaction, reaction] } }
        })
        await route.fulfill({ response: answer, json: { ...body, data } })
      })
      const thread = await openThread(page, name)
      await thread.getByText("Or not").waitFor()
      const path = "/admin/v1/simulator/received-messages"
      await dashboard.operate("POST", `${path}/${edited.id}/edit`, { text: "At eight" })
      await dashboard.operate("POST", `${path}/${revoked.id}/revoke`)
      const entry = thread.getByRole("listitem").filter({ hasText: "At eight" }).first()
      await entry.getByText("edited").waitFor()
      await thread.getByText("Its author deleted this message.").waitFor()
      await assertCount(thread.getByText("At seven"), 0)
      await assertCount(thread.getByText("Or not"), 0)
      await entry.getByRole("list", { name: "Reactions" }).getByText("👍 2").waitFor()
      await page.unrouteAll({ behavior: "wait" })
    }))

  it("says in plain words what has no text, and shows hostile text as text", () =>
    onPage("/w/1/chats", async (page) => {
      const name = unique("Kinds")
      const from = { phone: uniquePhone(), name }
      const hostile = `<img src=x onerror="document.title='ran'">\u202E${"w".repeat(200)}`
      const { id: quoted } = await write(from, { text: hostile })
      await write(from, { kind: "voice" })
      await write(from, { kind: "unsupported", content: { type: "<i>event</i>" } })
      await write(from, { kind: "unreadable" })
      await write(from, {
        kind: "location",
        content: { latitude: 52.5, longitude: 13.4, name: "<b>Here</b>", address: "A street" },
      })
      await write(from, { kind: "poll", content: { question: "Which?", options: ["One", "One"] } })
      await write(from, { kind: "contact", content: { contacts: [{ name: "", phones: ["1"] }] } })
      await write(from, { text: "w".repeat(3000) })
      await write(from, { text: "Last", reply_to: { received_message_id: quoted } })
      const thread = await openThread(page, name)
      for (const label of [
        "Voice message",
        "not supported here",
        "<i>event</i>",
        "could not be read",
        "<b>Here</b>",
        "52.50000, 13.40000",
        "Which?",
      ])
        await thread.getByText(label).waitFor()
      await assertCount(thread.getByText("One", { exact: true }), 1)
      await assertCount(thread.getByText("w".repeat(3000)), 0)
      await thread.getByRole("button", { name: "Show all" }).click()
      await thread.getByText("w".repeat(3000)).waitFor()
      await thread.getByRole("button", { name: "<img src=x" }).click()
      await assertEventually(async () => {
        const focused = await page.evaluate(() => document.activeElement?.textContent ?? "")
        assert.include(focused, "<img src=x onerror")
      })
      assert.notStrictEqual(await page.title(), "ran")
    }))

  it("keeps its place while earlier messages are loaded", () =>
    onPage("/w/1/chats", async (page) => {
      const name = unique("Long")
      const from = { phone: uniquePhone(), name }
      for (let index = 0; index < 60; index += 1) await write(from, { text: `Line ${index}.` })
      const thread = await openThread(page, name)
      await thread.getByText("Line 59.").waitFor()
      const tenth = thread.getByText("Line 10.", { exact: true })
      await tenth.waitFor()
      const earlier = thread.getByRole("button", { name: "Show earlier messages" })
      await earlier.scrollIntoViewIfNeeded()
      const before = await tenth.boundingBox()
      await earlier.click()
      await thread.getByText("Line 0.").waitFor({ state: "attached" })
      await thread.getByText("No earlier messages in this chat.").waitFor({ state: "attached" })
      const after = await tenth.boundingBox()
      assert.closeTo(after?.y ?? 0, before?.y ?? -100, 24)
    }))

  it("answers in a chat, shows what becomes of it, and keeps what is not sent yet", () =>
    onPage("/w/1/chats", async (page) => {
      const [name, other] = [unique("Asks"), unique("Other")]
      const phone = uniquePhone()
      const { chat } = await write({ phone, name }, { text: "Is my table ready?" })
      await write({ phone: uniquePhone(), name: other }, { text: "Hello" })
      const thread = await openThread(page, name)
      await thread.getByText("Is my table ready?").waitFor()
      await page.keyboard.press("r")
      const text = unique("<b>It is</b>")
      await page.keyboard.type(text)
      await page.keyboard.press("Escape")
      await openThread(page, other)
      await openThread(page, name)
      const field = thread.getByLabel(`Answer to ${name}`)
      assert.strictEqual(await field.inputValue(), text)
      await field.press("Shift+Enter")
      await field.press("Enter")
      const answer = thread.getByRole("listitem").filter({ hasText: text })
      await answer.getByRole("link", { name: /: sent$/ }).waitFor()
      assert.strictEqual(await field.inputValue(), "")
      const { data } = (await dashboard.operate(
        "GET",
        `${workspace}/messages?to=${encodeURIComponent(phone)}`,
      )) as { data: ReadonlyArray<{ id: number; to: object; text: string }> }
      assert.deepStrictEqual(
        data.map((message) => [message.to, message.text.trim()]),
        [[{ chat_id: chat.id, phone }, text]],
      )
      const ticks = `/admin/v1/simulator/messages/${data[0]?.id}/ticks`
      await dashboard.operate("POST", ticks, { status: "read" })
      await answer.getByRole("link", { name: /: read$/ }).waitFor()
    }))

  it("quotes what was received, and what was sent", () =>
    onPage("/w/1/chats", async (page) => {
      const [name, question] = [unique("Quoted"), unique("Window or garden?")]
      await write({ phone: uniquePhone(), name }, { text: question })
      const thread = await openThread(page, name)
      const reply = async (to: string, text: string) => {
        const said = thread.getByRole("listitem").filter({ hasText: to }).last()
        await said.hover()
        await said.getByRole("button", { name: "Reply" }).click()
        await thread.getByText(/^Replying to/).waitFor()
        await page.keyboard.type(text)
        await page.keyboard.press("Enter")
        const answer = thread.getByRole("listitem").filter({ hasText: text })
        await answer.getByRole("link", { name: /: sent$/ }).waitFor()
        await answer.getByRole("button", { name: to }).waitFor()
        await assertCount(thread.getByText(/^Replying to/), 0)
      }
      await reply(question, "The garden")
      await reply("The garden", "If it is dry")
    }))

  it("shows an answer that cannot be sent, with the reason", () =>
    onPage("/w/1/chats", async (page) => {
      const name = unique("Unreachable")
      await write({ phone: "+15550100000", name }, { text: "Hello" })
      const thread = await openThread(page, name)
      await thread.getByLabel(`Answer to ${name}`).fill("Come in")
      await thread.getByRole("button", { name: "Send" }).click()
      await thread.getByText("is not registered").waitFor()
      await thread.getByRole("link", { name: /: failed$/ }).click()
      await page.getByRole("heading", { level: 1, name: "Messages" }).waitFor()
    }))

  it("marks a chat as read once asked, and shows files by their state", () =>
    onPage("/w/1/chats", async (page) => {
      const name = unique("Sends files")
      const from = { phone: uniquePhone(), name }
      const data = picture.toString("base64")
      await write(from, { kind: "image", media: { file_name: "<b>room.png", data } })
      const { chat, id } = await write(from, { kind: "voice" })
      const thread = await openThread(page, name)
      await thread.getByAltText("<b>room.png").waitFor()
      const isDrawn = await thread
        .getByAltText("<b>room.png")
        .evaluate((image) => (image as HTMLImageElement).decode().then(() => true))
      assert.isTrue(isDrawn)
      const link = thread.getByRole("link", { name: "Open <b>room.png" })
      const href = (await link.getAttribute("href")) ?? ""
      assert.strictEqual((await fetch(new URL(href, page.url()))).status, 200)
      await thread.getByText("Unread", { exact: true }).waitFor()
      await rows(page).filter({ hasText: name }).getByText("2 unread").waitFor()
      await page.keyboard.press("m")
      await thread.getByRole("button", { name: "Mark as read" }).waitFor({ state: "detached" })
      await assertCount(thread.getByText("Unread", { exact: true }), 0)
      await assertCount(
        rows(page)
          .filter({ hasText: name })
          .getByText(/unread/),
        0,
      )
      const { read_up_to: upTo } = (await dashboard.operate(
        "GET",
        `${workspace}/chats/${chat.id}`,
      )) as { read_up_to: number }
      assert.strictEqual(upTo, id)
    }))

  it("lets a person write on a simulated phone, quote, and see answers and marks", () =>
    onPage("/w/1/overview", async (page) => {
      const phone = uniquePhone()
      await goTo(page, dashboard, `/w/1/emulator?phone=${encodeURIComponent(phone)}`)
      const bubbles = page.getByRole("list", { name: "Messages on the phone" })
      const question = unique("<b>Is it ready?</b>")
      await page.getByLabel(`Write as ${phone}`).fill(question)
      await page.keyboard.press("Enter")
      await bubbles.getByText(question).waitFor()
      const { data } = (await dashboard.operate(
        "GET",
        `${workspace}/chats?phone=${encodeURIComponent(phone)}`,
      )) as { data: ReadonlyArray<{ id: number }> }
      const chat = data[0]?.id
      await goTo(page, dashboard, `/w/1/chats?open=${chat}`)
      const thread = page.getByRole("region", { name: `Chat with ${phone}` })
      await thread.getByRole("button", { name: "Mark as read" }).click()
      await thread.getByLabel(`Answer to ${phone}`).fill("It is.")
      await thread.getByRole("button", { name: "Send" }).click()
      await thread.getByRole("link", { name: /: sent$/ }).waitFor()
      await goTo(page, dashboard, `/w/1/emulator?phone=${encodeURIComponent(phone)}`)
      await bubbles
        .getByRole("listitem")
        .filter({ hasText: question })
        .getByText("read", { exact: true })
        .waitFor()
      const answer = bubbles.getByRole("listitem").filter({ hasText: "It is." })
      await answer.getByRole("button", { name: "Reply" }).click()
      await page.getByText("Replying to: It is.").waitFor()
      await page.getByLabel(`Write as ${phone}`).fill("On our way")
      await page.keyboard.press("Enter")
      await bubbles.getByText("On our way").waitFor()
      await assertCount(page.getByText("Replying to: It is."), 0)
      await goTo(page, dashboard, `/w/1/chats?open=${chat}`)
      const last = thread.getByRole("listitem").filter({ hasText: "On our way" })
      await last.getByRole("button", { name: "It is." }).waitFor()
    }))

  it("lets a person send a file, and says why one did not come and what to do", () =>
    onPage("/w/1/overview", async (page) => {
      const phone = uniquePhone()
      await goTo(page, dashboard, `/w/1/emulator?phone=${encodeURIComponent(phone)}`)
      const send = async (file_name: string, size: number) => {
        const chooses = page.waitForEvent("filechooser")
        await page.getByRole("button", { name: "Attach a file" }).click()
        const buffer = Buffer.concat([picture, Buffer.alloc(size)])
        await (await chooses).setFiles({ name: file_name, mimeType: "image/png", buffer })
        await page.getByText(`${file_name}, `).waitFor()
        await page.getByRole("button", { name: "Write", exact: true }).click()
        const bubbles = page.getByRole("list", { name: "Messages on the phone" })
        await bubbles.getByText(file_name).waitFor()
        await page.getByRole("button", { name: `→ ${file_name}` }).waitFor()
      }
      await send("small.png", 0)
      await dashboard.operate("PUT", `${workspace}/conversations`, {
        groups: true,
        max_file_bytes: 1000,
      })
      await send("large.png", 1200)
      await dashboard.operate("PUT", `${workspace}/conversations`, { groups: true })
      assert.deepStrictEqual(await barriers(page), [])

      const { data } = (await dashboard.operate(
        "GET",
        `${workspace}/chats?phone=${encodeURIComponent(phone)}`,
      )) as { data: ReadonlyArray<{ id: number }> }
      await goTo(page, dashboard, `/w/1/chats?open=${data[0]?.id}`)
      const thread = page.getByRole("region", { name: `Chat with ${phone}` })
      await thread.getByAltText("small.png").waitFor()
      await thread.getByText("larger than the workspace allows").waitFor()
      assert.deepStrictEqual(await barriers(page), [])
    }))

  it("erases a message, and a chat, after a question", () =>
    onPage("/w/1/chats", async (page) => {
      const name = unique("Gone")
      const from = { phone: uniquePhone(), name }
      const { chat, id } = await write(from, { text: "To be erased" })
      await write(from, { text: "Stays for now" })
      const thread = await openThread(page, name)
      const message = thread.getByRole("listitem").filter({ hasText: "To be erased" })
      await message.hover()
      await message.getByRole("button", { name: "Delete message" }).click()
      await page.getByRole("dialog").getByText("It stays on the phones.").waitFor()
      await confirm(page, "Delete message")
      await message.waitFor({ state: "detached" })
      const remaining = await list(`received-messages?chat_id=${chat.id}`)
      assert.notInclude(
        remaining.data.map((one) => one.id),
        id,
      )
      await thread.getByRole("button", { name: "Delete chat" }).click()
      await confirm(page, "Delete chat")
      await thread.waitFor({ state: "detached" })
      await assertCount(rows(page).filter({ hasText: name }), 0)
      assert.deepStrictEqual((await list(`received-messages?chat_id=${chat.id}`)).data, [])
    }))

  it("lets members read, and offers them no erasing", () =>
    withPage(dashboard, async (page) => {
      const name = unique("Read")
      await write({ phone: uniquePhone(), name }, { text: "Hello" })
      const { url } = (await dashboard.operate("POST", `${workspace}/portal-sessions`, {
        role: "member",
      })) as { url: string }
      const { hash, pathname } = new URL(url)
      await page.goto(`${dashboard.url}${pathname}${hash}`)
      await page.getByRole("button", { name: "Open the workspace" }).click()
      await page.getByRole("link", { name: "Chats", exact: true }).click()
      const thread = await openThread(page, name)
      await thread.getByText("Hello").waitFor()
      await assertCount(thread.getByRole("button", { name: /^Delete/ }), 0)
    }))

  it("is no page of a workspace without conversations", () =>
    onPage("/w/1/overview", async (page) => {
      const { id } = (await dashboard.operate("POST", "/admin/v1/workspaces", {
        name: unique("Without"),
      })) as { id: number }
      await goTo(page, dashboard, `/w/${id}/overview`)
      await awaitAnswers(page)
      await assertCount(page.getByRole("link", { name: "Chats", exact: true }), 0)
      await goTo(page, dashboard, `/w/${id}/chats`)
      await page.getByText("Conversations are off").waitFor()
    }))

  it("are turned on with their settings, and keys from before are named as without chats", () =>
    onPage("/w/1/overview", async (page) => {
      const { id } = (await dashboard.operate("POST", "/admin/v1/workspaces", {
        name: unique("Later"),
      })) as { id: number }
      const path = `/admin/v1/workspaces/${id}`
      await dashboard.operate("POST", `${path}/keys`, { version: 2, name: "Till" })
      await goTo(page, dashboard, `/w/${id}/settings`)
      const till = page.getByRole("row", { name: /Till/ })
      await till.getByRole("cell", { name: "all", exact: true }).first().waitFor()
      await page.getByText("stays on the phones.").waitFor()

      await page.getByRole("button", { name: "Turn on" }).click()
      const dialog = page.getByRole("dialog")
      assert.deepStrictEqual(await barriers(page), [])
      await dialog.getByLabel("Largest file (MiB)").fill("0.5")
      await dialog.getByLabel("Groups").check()
      await dialog.getByRole("button", { name: "Turn on" }).click()
      await page.getByText("512 KiB").waitFor()
      await till.getByRole("cell", { name: "all but Read chats, Change chats" }).waitFor()
      assert.deepStrictEqual(await barriers(page), [])

      await page.getByRole("button", { name: "Edit" }).click()
      await dialog.getByLabel("Retention (days)").fill("7")
      await dialog.getByRole("button", { name: "Save" }).click()
      await assertCount(dialog, 0)
      assert.deepInclude(await dashboard.operate("GET", `${path}/conversations`), {
        groups: true,
        max_file_bytes: 524_288,
        retention_days: 7,
      })
      await page.getByRole("main").getByRole("link", { name: "Webhooks" }).click()
      await page.getByRole("button", { name: "Add webhook" }).first().click()
      const written = dialog.getByRole("group", { name: "What people write" })
      assert.isFalse(await written.getByLabel("Received").isChecked())
      assert.isTrue(await dialog.getByLabel("Sent", { exact: true }).isChecked())
      assert.deepStrictEqual(await barriers(page), [])
    }))
})
