/** A recipe of `docs/testing.md`: what people write is answered once, in their workspace. */
import { openTest } from "@messaging-service/service/testing"
import { assert, test } from "vitest"
import { answerPeople } from "../src/answering.ts"

test("a person writes, and your program answers", async () => {
  const t = await openTest({ conversations: true })
  answerPeople(t.messaging, (text) => (text.includes("open") ? "Until six." : undefined))
  const ada = t.person("+15550100002", "Ada")
  await ada.writes("Are you open?")
  await ada.writes("Thanks")
  assert.deepStrictEqual(
    t.sent.map(({ text, to }) => ({ text, to })),
    [{ text: "Until six.", to: "+15550100002" }],
  )
  const { items } = await t.api.messages.list().page()
  assert.strictEqual(items[0]?.status, "sent")
  await t.close()
})
