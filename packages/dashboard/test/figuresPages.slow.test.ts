/** The overview, the service's page and long lists of workspaces, over a real service. */
import { assert, describe, it } from "vitest"
import {
  assertCount,
  assertEventually,
  awaitAnswers,
  barriers,
  overflows,
  setUpDashboard,
  visibleText,
} from "./browserPages.ts"
import { skipsWithoutBrowser } from "./startDashboard.ts"

interface Created {
  readonly id: number
}

describe.skipIf(skipsWithoutBrowser)("pages with figures", () => {
  const { dashboard, onPage } = setUpDashboard()

  const makeWorkspace = async (name: string, fields: object = {}) =>
    (await dashboard.operate("POST", "/admin/v1/workspaces", { name, ...fields })) as Created

  const makeNumber = async ({ id }: Created, status: string) =>
    (await dashboard.operate("POST", `/admin/v1/workspaces/${id}/numbers`, {
      platform: "whatsapp",
      phone: `+1555019${String(id).padStart(4, "0")}`,
      status,
    })) as Created

  const send = (workspace: Created, from: Created, fields: object = {}) =>
    dashboard.operate("POST", `/admin/v1/workspaces/${workspace.id}/messages`, {
      from: from.id,
      to: { phone: "+15550100111" },
      text: "Hello",
      ...fields,
    })

  const getFigures = async ({ id }: Created) =>
    (await dashboard.operate("GET", `/admin/v1/workspaces/${id}/figures`)) as {
      readonly buckets: ReadonlyArray<{
        readonly at: string
        readonly accepted: number
        readonly sent: number
      }>
    }

  it("begins with three steps, and shows figures once something was sent", async () => {
    const workspace = await makeWorkspace("New here")
    await onPage(`/w/${workspace.id}/overview`, async (page) => {
      await page.getByRole("heading", { name: "Get started" }).waitFor()
      const steps = page.getByRole("listitem").filter({ hasText: /Send|See it arrive|Break it/ })
      await assertCount(steps, 3)
      const number = await makeNumber(workspace, "connected")
      await send(workspace, number)
      await page.getByText("Message results").waitFor()
      await page.getByRole("heading", { name: "Get started" }).waitFor({ state: "detached" })
      await page.getByText("No active webhook.").waitFor()
      await dashboard.operate("POST", `/admin/v1/workspaces/${workspace.id}/webhooks`, {
        url: "http://127.0.0.1:65534/no-receiver",
      })
      await page.getByText("No deliveries in this period.").waitFor()
    })
  })

  it("shows what the service counted, what waits, what is left, and what needs attention", async () => {
    const workspace = await makeWorkspace("Figures", {
      plan: {
        name: "Small",
        messages_remaining: 100,
        reminders: true,
        qr_code_api: true,
        max_numbers: 5,
        media_storage_bytes: 1_048_576,
      },
    })
    const number = await makeNumber(workspace, "connected")
    const lost = (await dashboard.operate("POST", `/admin/v1/workspaces/${workspace.id}/numbers`, {
      platform: "whatsapp",
      phone: "+15550198888",
      label: "<b>Shop</b>",
      status: "disconnected",
    })) as Created
    await dashboard.operate("POST", `/admin/v1/workspaces/${workspace.id}/webhooks`, {
      url: "http://127.0.0.1:65534/no-receiver",
    })
    for (let count = 0; count < 3; count++) await send(workspace, number)
    await dashboard.operate("POST", "/admin/v1/simulator/settle")
    await send(workspace, lost)
    await send(workspace, lost, { send_at: "2099-01-01T00:00:00Z" })
    const { buckets } = await getFigures(workspace)
    assert.deepStrictEqual([buckets.at(-1)?.accepted, buckets.at(-1)?.sent], [5, 3])
    await onPage(`/w/${workspace.id}/overview`, async (page) => {
      const assertFigure = (name: string, value: string) => {
        const figure = page.locator("dl > div").filter({ hasText: name }).locator("dd").first()
        return assertEventually(async () => assert.strictEqual(await figure.textContent(), value))
      }
      await assertFigure("Sent", "3")
      await assertFigure("Waiting", "2")
      await visibleText(page, "95 left").waitFor()
      await page.getByRole("link", { name: "<b>Shop</b>" }).waitFor()
      await page.getByText(/no-receiver: the last delivery failed \(connection failed\)/).waitFor()
      // Each time stands where the column of its hour begins.
      const [columns, marks] = await page
        .locator("figure")
        .first()
        .evaluate((figure) => {
          const edges = (selector: string, of: (box: DOMRect) => number) =>
            [...figure.querySelectorAll(selector)].map((one) => of(one.getBoundingClientRect()))
          return [
            edges("[role=img] > div", ({ left }) => left),
            edges(":scope > div > div:last-child > span", ({ left, width }) => left + width / 2),
          ] as const
        })
      for (const [mark, column] of [6, 12, 18].entries())
        assert.approximately(marks[mark + 1] ?? 0, columns[column] ?? 0, 1)
      assert.deepStrictEqual(
        await page
          .locator("figure")
          .first()
          .locator("> div > div:last-child > span")
          .allTextContents(),
        [
          ...[0, 6, 12, 18].map((hour) =>
            new Date(buckets[hour]?.at ?? "").toTimeString().slice(0, 5),
          ),
          "now",
        ],
      )
      await page.getByRole("link", { name: "2", exact: true }).click()
      await page.waitForURL(/messages\?status=.*queued.*scheduled/)
      await page.locator("tbody tr").nth(1).waitFor()
      await page.goBack()
      for (const range of ["7 days", "30 days"]) {
        await page.getByRole("link", { name: range }).click()
        await page.locator("a[data-on=true]", { hasText: range }).waitFor()
        await assertFigure("Sent", "3")
      }
    })
  })

  it("says on every page of a workspace that it is disabled", async () => {
    const workspace = await makeWorkspace("Closed")
    await makeNumber(workspace, "connected")
    await dashboard.operate("PATCH", `/admin/v1/workspaces/${workspace.id}`, {
      account_disabled: true,
    })
    const bar = /This workspace is disabled/
    await onPage(`/w/${workspace.id}/overview`, async (page) => {
      await page.getByText(bar).waitFor()
      for (const name of ["Messages", "Numbers", "Settings"]) {
        await page.getByRole("link", { name, exact: true }).click()
        await page.getByRole("heading", { level: 1, name }).waitFor()
        await page.getByText(bar).waitFor()
      }
      await page.getByRole("link", { name: "All workspaces" }).click()
      await page.getByRole("heading", { level: 1, name: "Workspaces" }).waitFor()
      await page.getByText(bar).waitFor({ state: "detached" })
    })
  })

  it("tells how the service does, and has no barriers", async () => {
    for (const theme of ["light", "dark"] as const) {
      for (const width of [360, 1280]) {
        await onPage(
          "/service",
          async (page) => {
            await page.getByText("All good: the store responds").waitFor()
            await visibleText(page, "responding").first().waitFor()
            await page.getByRole("cell", { name: "server" }).waitFor()
            await page.getByRole("row", { name: /WhatsApp/ }).waitFor()
            await awaitAnswers(page)
            assert.deepStrictEqual(await barriers(page), [])
            assert.isFalse(await overflows(page))
          },
          { theme, width },
        )
      }
    }
  })

  it("goes through more workspaces than a page has", async () => {
    for (let count = 0; count < 101; count++) await makeWorkspace(`Customer ${count}`)
    await onPage("/workspaces", async (page) => {
      await page.getByRole("link", { name: "Customer 100", exact: true }).waitFor()
      await assertCount(page.getByRole("link", { name: "Customer 0", exact: true }), 0)
      await page.getByRole("button", { name: "Older" }).click()
      await page.getByRole("link", { name: "Customer 0", exact: true }).click()
      await page.getByText("Get started").waitFor()
      await page.getByText("Customer 0", { exact: true }).waitFor()
    })
  }, 60_000)
})
