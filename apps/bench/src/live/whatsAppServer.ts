/** A process that is the remote server of WhatsApp numbers: server, phones and recipients. */
import { make } from "@messaging-service/whatsapp-server"
import { BufferJSON } from "baileys"
import { Effect } from "effect"
import { runRemoteServer } from "./remoteServer.ts"

/** One-time keys that the server has of each device: as of one that was connected before. */
const keysThere = 800

runRemoteServer(
  Effect.map(make(), (server) => ({
    settings: { WHATSAPP_URL: server.url },
    link: (number) =>
      Effect.andThen(
        server.person(number),
        Effect.map(server.linkedBefore(number, keysThere), (creds) =>
          JSON.stringify(creds, BufferJSON.replacer),
        ),
      ),
    person: server.person,
    online: (numbers) =>
      [...numbers].filter((number) => server.sessions(number).some(({ open }) => open > 0)).length,
    copies: server.copies,
    complaints: server.complaints,
    until: server.until,
  })),
)
