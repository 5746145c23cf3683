/** A worker that runs requested actions and answers with their results. */
import { MessagingError, open } from "@messaging-service/service"
import type { Messaging, OpenOptions } from "@messaging-service/service"
import { Pool } from "pg"

interface Environment {
  readonly DATABASE_URL: string
}

const said = (error: unknown) => {
  if (!(error instanceof MessagingError)) throw error
  const { code, field, message } = error
  return { code, field, message }
}

/** Opened while the module loads, which a worker does not permit. */
const tooEarly = open().then(() => "opened", said)

/** Sends texts and a link, drains, reads back by a call and by a request, and tries to upload a file. */
const sends = async (messaging: Messaging, receiver: string, pool?: Pool) => {
  const shop = await messaging.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })
  const api = messaging.as(shop)
  const webhook = await api.webhooks.create({ url: receiver })
  const to = { phone: "+15550100002" }
  const { id } = await api.messages.send({ to, text: "Hello" })
  await api.messages.send({ to, text: "The menu", media: { url: `${receiver}menu.pdf` } })
  if (pool !== undefined) {
    const client = await pool.connect()
    for (const end of ["rollback", "commit"]) {
      await client.query("begin")
      await api.messages.send({ to, text: end }, { transaction: client })
      await client.query(end)
    }
    client.release()
  }
  const { delivered, finished, sent } = await messaging.drain()
  const { key } = await messaging.operator(shop).keys.create({ version: 2, name: "Web" })
  const headers = { authorization: `Bearer ${key}` }
  const requested = (path: string, init: RequestInit) =>
    messaging.handler(new Request(`http://127.0.0.1:8080/api/v2/${path}`, { headers, ...init }))
  const answered = await requested(`messages/${id}`, {})
  const content = new TextEncoder().encode("%PDF-1.7\n%%EOF\n")
  const upload = await api.media
    .upload({ content, fileName: "menu.pdf" })
    .then(({ mimeType }) => mimeType, said)
  const body = new FormData()
  body.append("file", new Blob([content]), "menu.pdf")
  const answer = await requested("media", { method: "POST", body })
  const { error } = (await answer.json()) as { readonly error?: Record<string, unknown> }
  const uploaded = {
    status: answer.status,
    ...(error && { error: { code: error.code, field: error.field, message: error.message } }),
  }
  await api.webhooks.remove(webhook.id)
  await messaging.close()
  const { status } = (await answered.json()) as { readonly status: string }
  return { sent, delivered, finished, status, upload, uploaded }
}

const ignored = () => undefined

/** Keeps the failed upload out of the test's output. */
const common: OpenOptions = {
  egress: "open",
  logger: { debug: ignored, info: ignored, warn: ignored, error: ignored },
}

const secretsKey = "0123456789abcdef".repeat(4)

const answer = async (request: Request, { DATABASE_URL }: Environment) => {
  const [, what] = new URL(request.url).pathname.split("/")
  const receiver = request.headers.get("receiver") ?? ""
  switch (what) {
    case "memory":
      return Response.json(await sends(await open(common), receiver))
    case "url": {
      const store = { postgres: DATABASE_URL }
      return Response.json(await sends(await open({ ...common, store, secretsKey }), receiver))
    }
    case "pool": {
      const pool = new Pool({ connectionString: DATABASE_URL })
      const done = await sends(
        await open({ ...common, store: { pool }, secretsKey }),
        receiver,
        pool,
      )
      await pool.end()
      return Response.json(done)
    }
    case "too-early":
      return Response.json(await tooEarly)
    default:
      return Response.json(
        await open((await request.json()) as OpenOptions).then(() => "opened", said),
      )
  }
}

// oxlint-disable-next-line import/no-default-export -- what the host calls
export default { fetch: answer }
