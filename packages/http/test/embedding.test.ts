import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import { dispose, handler } from "./embedding.ts"

const besides = (name: string) =>
  Effect.promise(() => readFile(new URL(name, import.meta.url), "utf8"))

const request = (
  path: string,
  token: string,
  json?: unknown,
): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> =>
  handler(
    new Request(`https://messages.example.com${path}`, {
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(json === undefined ? {} : { method: "POST", body: JSON.stringify(json) }),
    }),
  ).then(async (response) => ({
    status: response.status,
    body: (await response.json()) as Record<string, unknown>,
  }))

describe("the README's example", () => {
  it.effect("is the program that this suite runs", () =>
    Effect.gen(function* () {
      const readme = yield* besides("../README.md")
      const program = yield* besides("./embedding.ts")
      assert.include(readme, `\`\`\`ts\n${program}\`\`\``)
    }),
  )

  it.effect("sends a message", () =>
    Effect.promise(async () => {
      const operator = "an operator's secret"
      const workspaces = "/admin/v1/workspaces"
      const { body: workspace } = await request(workspaces, operator, { name: "Shop" })
      const inside = `${workspaces}/${String(workspace["id"])}`
      await request(`${inside}/numbers`, operator, { platform: "whatsapp", phone: "+15550100001" })
      const { body: created } = await request(`${inside}/keys`, operator, {
        version: 2,
        name: "Till",
      })
      const key = String(created["key"])
      const message = { to: { phone: "+15550100002" }, text: "Hello" }
      const sent = await request("/api/v2/messages", key, message)
      assert.strictEqual(sent.status, 202)
      const read = await request(`/api/v2/messages/${String(sent.body["id"])}`, key)
      assert.strictEqual(read.body["text"], "Hello")
      const refused = await request("/api/v2/me", "nonsense")
      const { docs } = refused.body["error"] as { readonly docs: string }
      assert.strictEqual(docs, "https://messages.example.com/docs/errors#invalid_api_key")
      await dispose()
    }),
  )
})
