/** The receivers of the emulator: a webhook is made, broken, understood, repaired and delivered again in pages. */
import type { Page } from "playwright-core"
import { assert, describe, it } from "vitest"
import {
  assertCount,
  assertEventually,
  barriers,
  goTo,
  overflows,
  setUpDashboard,
  visibleText,
} from "./browserPages.ts"
import { skipsWithoutBrowser } from "./startDashboard.ts"

describe.skipIf(skipsWithoutBrowser)("the receivers of the emulator", () => {
  const { dashboard, onPage } = setUpDashboard()

  const receiver = (page: Page, name: string) =>
    page.getByRole("region", { name: `Receiver ${name}`, exact: true })

  const findCalls = (page: Page, name: string) =>
    receiver(page, name).getByRole("list", { name: "Calls, newest first" }).getByRole("listitem")

  it("show on a fresh start why a webhook fails, are repaired, and get the event again", () =>
    onPage("/w/1/emulator", async (page) => {
      await page.getByText("No receivers yet").waitFor()
      assert.deepStrictEqual(await barriers(page), [])
      await page.getByRole("main").getByRole("link", { name: "Webhooks" }).click()

      // Make a webhook
      await page.getByRole("button", { name: "Add webhook" }).first().click()
      const dialog = page.getByRole("dialog")
      await dialog.getByRole("button", { name: "Use a receiver of the emulator" }).click()
      const url = "https://shop.receiver.test/hook"
      assert.strictEqual(await dialog.getByLabel("URL").inputValue(), url)
      assert.deepStrictEqual(await barriers(page), [])
      await dialog.getByRole("button", { name: "Add webhook" }).click()
      await dialog.getByRole("button", { name: "Done" }).click()
      await page.getByRole("link", { name: url }).click()
      await page.getByRole("heading", { name: /^Webhook \d+$/ }).waitFor()
      await page.getByText("Receives message.sent, message.failed").waitFor()
      const log = new URL(page.url()).pathname

      // Break it
      await page.getByRole("link", { name: "Open in the emulator" }).click()
      await receiver(page, "shop").getByText("No calls yet").waitFor()
      await assertEventually(async () => {
        const box = await receiver(page, "shop").boundingBox()
        assert.isBelow(box?.y ?? Infinity, 500, "what was asked for is in sight")
      })
      await receiver(page, "shop").getByLabel("Response body").fill("out of order")
      await receiver(page, "shop").getByRole("button", { name: "Save" }).click()
      await receiver(page, "shop").getByText("500", { exact: true }).click()
      await page.getByText("Fails every call.").waitFor()
      const to = { phone: "+15550100002" }
      await dashboard.request("POST", "/api/v2/messages", { to, text: "Hello" })

      // See why, live
      const failed = findCalls(page, "shop").filter({ hasText: "answered 500" }).first()
      await failed.getByText("message.sent", { exact: true }).waitFor()
      await failed.getByText("signature valid").waitFor()
      await failed.locator("summary").click()
      await failed.getByText("service-signature:").waitFor()
      await failed.getByRole("region", { name: "Body" }).getByText(/"evt_/).waitFor()
      assert.deepStrictEqual(await barriers(page), [])
      await goTo(page, dashboard, log)
      await visibleText(page, "HTTP 500").first().waitFor()
      await page
        .getByRole("button", { name: /^View attempt / })
        .first()
        .click()
      await page
        .getByRole("region", { name: "Response: HTTP 500" })
        .getByText("out of order")
        .waitFor()
      await page.getByRole("dialog").getByRole("button", { name: "Done" }).click()

      // Repair it, and deliver the event again
      await page.getByRole("link", { name: "Open in the emulator" }).click()
      await receiver(page, "shop").getByText("200", { exact: true }).click()
      await page.getByText("Accepts every call.").waitFor()
      await goTo(page, dashboard, log)
      await page
        .getByRole("button", { name: /^Redeliver event / })
        .first()
        .click()
      await page.getByText("is queued for redelivery").waitFor()
      await page.getByRole("link", { name: "Open in the emulator" }).click()
      await findCalls(page, "shop").filter({ hasText: "answered 200" }).first().waitFor()
      await receiver(page, "shop").getByRole("button", { name: "Clear" }).click()
      await assertCount(findCalls(page, "shop"), 0)
    }))

  it("have no barriers in both themes, at 360 and 1,280 pixels", async () => {
    const created = (await dashboard.operate("POST", "/admin/v1/workspaces/1/webhooks", {
      url: `https://${"long-".repeat(12)}.receiver.test/${"path/".repeat(40)}`,
    })) as { readonly id: number }
    await dashboard.operate("POST", `/admin/v1/workspaces/1/webhooks/${created.id}/test`)
    const name = "long-".repeat(12)
    for (const theme of ["light", "dark"] as const)
      for (const width of [360, 1280])
        await onPage(
          `/w/1/emulator?receiver=${name}`,
          async (page) => {
            const call = findCalls(page, name).first()
            await call.locator("summary").click()
            await call.getByText("service-signature:").waitFor()
            assert.deepStrictEqual(await barriers(page), [])
            assert.isFalse(await overflows(page))
          },
          { theme, width },
        )
    await dashboard.operate("DELETE", `/admin/v1/workspaces/1/webhooks/${created.id}`)
  })
})
