/** People write to numbers, and what they wrote is read. */
import { Effect } from "effect"
import { expectBody, operate } from "../Records.ts"
import type { Created, PageBody } from "../Records.ts"
import { ask, simulator } from "../webhooks/Asking.ts"

export type Received = Created & Readonly<Record<string, unknown>>

export const received = "/api/v2/received-messages"
export const chats = "/api/v2/chats"

export const inWorkspace = ({ id }: Created, path: string) => `/admin/v1/workspaces/${id}/${path}`

export const turnOn = (workspace: Created, json: object = {}) =>
  Effect.map(
    operate({ method: "PUT", path: inWorkspace(workspace, "conversations"), json }),
    (answer) => expectBody(answer, 200),
  )

export const ada = { phone: "+15550001234", name: "Ada" }

export const tryWrite = (number: Created, json: object) =>
  operate({ method: "POST", path: `${simulator}/numbers/${number.id}/received-messages`, json })

export const write = <A extends Received = Received>(number: Created, json: object = {}) =>
  Effect.map(tryWrite(number, { from: ada, text: "Hello", ...json }), (answer) =>
    expectBody<A>(answer, 201),
  )

export const get = <A = Received>(token: string, path: string) =>
  Effect.map(ask({ path, token }), (answer) => expectBody<A>(answer, 200))

export const list = (token: string, query = "", path = received) =>
  Effect.map(get<PageBody<Received>>(token, `${path}${query}`), ({ data }) => data)
