/** A day that depends on chance: ids, keys, secrets, and the jitter of retries. */
import { openTest } from "@messaging-service/service/testing"
import { writeFile } from "node:fs/promises"

/** Everything observable of that day, as one text. */
export const aDay = async (seed: string): Promise<string> => {
  const t = await openTest({ seed, at: "2026-03-28T12:00:00Z" })
  t.receiver.answer(500, "timeout", 503, 500)
  await t.phones.loseNextAnswer()
  await t.api.reminders.create({
    name: "Tea",
    to: { phone: "+15550100002" },
    text: "It is four o'clock.",
    schedule: { cron: "0 */4 * * *", timezone: "Europe/Berlin" },
  })
  await t.advance({ days: 1 })
  const { key } = await t.messaging.operator(t.workspace).keys.create({ version: 2, name: "Web" })
  const observed = { key, sent: t.sent, calls: t.receiver.calls, secret: t.receiver.secret }
  await t.close()
  return JSON.stringify(observed)
}

/** Writes the day into the file named by the variable `DAY`. */
export const leaveADay = async (): Promise<void> =>
  writeFile(process.env["DAY"] ?? "", await aDay("a"))
