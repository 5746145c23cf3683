/** The code of `docs/clients.md`, as it stands there; `guide.test.ts` holds both together and runs it. */
import { createReadStream as fromDisk } from "node:fs"
import { MessagingError, messagingClient, operatorClient } from "../src/index.ts"
import type { ClientOptions, OperatorOptions } from "../src/index.ts"

/** What the guide's lines are run with: the service that it names is the test's. */
export interface Setting extends Required<Pick<ClientOptions, "fetch" | "key">> {
  readonly token: OperatorOptions["token"]
  readonly folder: string
  readonly report: (id: number, what: string | undefined) => void
}

export const runGuide = async ({
  fetch,
  folder,
  key: given,
  report,
  token: operatorToken,
}: Setting) => {
  const key = given
  const token = operatorToken
  const createReadStream = (name: string) => fromDisk(`${folder}/${name}`)
  globalThis.fetch = fetch as typeof globalThis.fetch

  const client = messagingClient({ url: "https://messages.example.com", key })
  const message = await client.messages.send({
    to: { phone: "+15550100002" },
    text: "Your table is ready.",
  })

  for await (const { error, id } of client.messages.list({ status: ["failed"], limit: 100 })) {
    report(id, error?.code)
  }
  const { data, next_cursor } = await client.messages.list({ limit: 20 }).page()

  await client.messages.send(
    { to: { phone: "+15550100002" }, text: "Order 7 is on its way." },
    { idempotencyKey: "order-7-shipped" },
  )

  try {
    await client.messages.cancel(message.id)
  } catch (error) {
    if (!(error instanceof MessagingError) || error.code !== "not_cancellable") throw error
    report(message.id, `it is ${error.details["status"]} by now`)
  }

  const media = await client.media.upload({
    file: () => createReadStream("menu.pdf"),
    file_name: "menu.pdf",
  })
  await client.messages.send({ to: { group: "Team" }, media: { media_id: media.id } })

  const operator = operatorClient({ url: "https://messages.example.com", token })
  const workspace = await operator.workspaces.create({ name: "Shop" })
  const created = await operator.keys.create(workspace.id, { version: 2, name: "Till" })

  return { client, message, data, next_cursor, media, created }
}
