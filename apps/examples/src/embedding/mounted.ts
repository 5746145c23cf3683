import { open } from "@messaging-service/service"

const messaging = await open({
  http: { basePath: "/messaging", publicUrl: "https://shop.example.com" },
})
const shop = await messaging.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })
const { key } = await messaging.operator(shop).keys.create({ version: 2, name: "Web" })

// Whatever server you have: give it the requests below `/messaging`.
const response = await messaging.handler(
  new Request("https://shop.example.com/messaging/api/v2/me", {
    headers: { authorization: `Bearer ${key}` },
  }),
)
console.log(response.status, (await messaging.withKey(key).account()).workspace.name)
await messaging.close()
