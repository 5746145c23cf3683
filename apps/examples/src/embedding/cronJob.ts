import { open } from "@messaging-service/service"

// A job that runs now and then, or a function that lives for one request: no worker stays behind.
const messaging = await open({ worker: false })
const shop = await messaging.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })
const tomorrow = new Date(Date.now() + 24 * 60 * 60 * 1000)
const api = messaging.as(shop)
await api.messages.send({ to: { phone: "+15550100002" }, text: "Now" })
await api.messages.send({ to: { phone: "+15550100002" }, text: "Tomorrow", sendAt: tomorrow })

const { finished, nextDueAt, sent } = await messaging.drain({ atMostMillis: 20_000 })
console.log(sent, finished, nextDueAt?.getTime() === tomorrow.getTime())
await messaging.close()
