/**
 * A worker on an edge host that accepts messages into a database which other processes serve.
 * Everything that it opens belongs to the request, and is closed with it.
 */
import { MessagingError, open } from "@messaging-service/service"
import { Pool } from "pg"

interface Environment {
  readonly DATABASE_URL: string
  readonly SECRETS_KEY: string
}

const answer = async (
  request: Request,
  { DATABASE_URL, SECRETS_KEY }: Environment,
): Promise<Response> => {
  const pool = new Pool({ connectionString: DATABASE_URL, max: 1 })
  const messaging = await open({ store: { pool }, secretsKey: SECRETS_KEY })
  try {
    const shop = await messaging.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })
    const { id, status } = await messaging
      .as(shop)
      .messages.send({ to: { phone: "+15550100002" }, text: await request.text() })
    return Response.json({ id, status }, { status: 202 })
  } catch (error) {
    if (!(error instanceof MessagingError)) throw error
    return Response.json({ code: error.code, message: error.message }, { status: error.status })
  } finally {
    await messaging.close()
    await pool.end()
  }
}

// oxlint-disable-next-line import/no-default-export -- what the host calls
export default { fetch: answer }
