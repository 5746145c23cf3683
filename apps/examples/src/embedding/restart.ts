import { open } from "@messaging-service/service"

const options = {
  store: { postgres: process.env["DATABASE_URL"] ?? "postgres://localhost/shop" },
  dataDirectory: process.env["DATA_DIR"] ?? "./data",
}

// A process that only accepts, and ends before anything is sent.
const before = await open({ ...options, worker: false })
const shop = await before.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })
const { id } = await before.as(shop).messages.send({
  to: { phone: "+15550100002" },
  text: "Sent by the next process",
})
await before.close()

// The next one does from its start what fell due meanwhile.
const after = await open(options)
await new Promise((resolve) => {
  after.on("message.sent", resolve, { after: 0 })
})
console.log((await after.as(shop).messages.get(id)).status)
await after.close()
