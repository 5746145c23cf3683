// Prints what a number received since the last run. Needs URL, KEY and NUMBER in the environment.
import { messagingClient } from "@messaging-service/client"
import { readFile, rename, writeFile } from "node:fs/promises"

const { KEY: key = "", NUMBER, STATE: state = "sequence", URL: url = "" } = process.env
const client = messagingClient({ url, key })

let after = Number(await readFile(state, "utf8").catch(() => "0"))
for (;;) {
  const number = Number(NUMBER)
  const { data } = await client.receivedMessages.list({ number, after, limit: 100 }).page()
  if (data.length === 0) break
  for (const { chat, kind, sequence, text } of data) {
    console.log(sequence, `chat ${chat.id}`, kind, text)
    after = sequence
  }
  // Behind the work: a crash in between repeats some messages, and loses none.
  await writeFile(`${state}.new`, String(after))
  await rename(`${state}.new`, state)
}
