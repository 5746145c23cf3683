import { open } from "@messaging-service/service"
import express from "express"
import { once } from "node:events"
import type { AddressInfo } from "node:net"

const messaging = await open({ http: { basePath: "/messaging" } })

const app = express()
app.use("/messaging", messaging.nodeHandler) // before body parsers: the service reads bodies itself
app.use(express.json())
app.get("/", (_, response) => void response.send("my own page"))
const server = app.listen(0, "127.0.0.1")
await once(server, "listening")

// What others ask of it, with a key of theirs.
const shop = await messaging.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })
const { key } = await messaging.operator(shop).keys.create({ version: 2, name: "Web" })
const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const sent = await fetch(`${address}/messaging/api/v2/messages`, {
  method: "POST",
  headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  body: JSON.stringify({ to: { phone: "+15550100002" }, text: "Hello" }),
})
console.log(sent.status, await (await fetch(address)).text())

// At the end the server first: it takes no more requests, and closes its connections.
server.close()
server.closeAllConnections()
await messaging.close()
