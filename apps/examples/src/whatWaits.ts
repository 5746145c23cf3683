/** What waits in an embedded database that nothing else has open: the copy of a backup, before it is started. */
import { open } from "@messaging-service/service"

const messaging = await open({ store: { embedded: process.argv[2] ?? "" }, worker: false })
for await (const workspace of messaging.workspaces.list()) {
  const { messages } = messaging.as(workspace)
  for await (const message of messages.list({ status: ["queued", "scheduled"] })) {
    console.log(workspace.id, message.id, message.sendAt ?? message.createdAt, message.text)
    // await messages.cancel(message.id) where it had left already
  }
}
await messaging.close()
